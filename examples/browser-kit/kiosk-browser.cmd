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
set "WORDS=--kiosk --no-first-run --disable-session-crashed-bubble --disable-pinch"
set "WORDS=%WORDS% --user-data-dir="%PROFILE%" "%PAGE%""
rem PowerShell reads the variables itself; its quotes are single ones.
set "WATCH=$started = { Get-Content -Raw -ErrorAction Ignore -LiteralPath ($env:CONNECTOR + '\data\run\kiosk-started') };"
set "WATCH=%WATCH% $now = & $started; $browser = Start-Process -PassThru -FilePath $env:BROWSER -ArgumentList $env:WORDS;"
set "WATCH=%WATCH% while (-not $browser.HasExited -and (& $started) -eq $now) { Start-Sleep -Seconds 2 };"
set "WATCH=%WATCH% if (-not $browser.HasExited) { Stop-Process -Force -Id $browser.Id; $browser.WaitForExit() }"
:again
set "ADDRESS="
for /f "delims=" %%A in ('call "%CONNECTOR%\launch.cmd" kiosk') do set "ADDRESS=%%A"
if "%ADDRESS%"=="" timeout /t 5 /nobreak >nul & goto again
rem The ticket is good once and for a minute; it stays in no history.
>"%PAGE%" echo ^<meta http-equiv="refresh" content="0;url=%ADDRESS%"^>
powershell -NoProfile -Command "%WATCH%"
timeout /t 1 /nobreak >nul
goto again
