@echo off
rem Shows the kiosk's own pages (KIOSK_APP) in Chrome or Edge, and again when the browser has ended.
rem usage: kiosk-browser.cmd C:\path\of\the\connector [C:\path\of\chrome.exe]
setlocal
set "CONNECTOR=%~1"
set "BROWSER=%~2"
if "%CONNECTOR%"=="" echo the connector's folder is missing & exit /b 64
if "%BROWSER%"=="" set "BROWSER=%ProgramFiles%\Google\Chrome\Application\chrome.exe"
:again
set "ADDRESS="
for /f "delims=" %%A in ('call "%CONNECTOR%\launch.cmd" kiosk') do set "ADDRESS=%%A"
if "%ADDRESS%"=="" timeout /t 5 /nobreak >nul & goto again
start "" /wait "%BROWSER%" --kiosk --no-first-run --disable-pinch --user-data-dir="%LOCALAPPDATA%\kiosk-browser" "%ADDRESS%"
timeout /t 1 /nobreak >nul
goto again
