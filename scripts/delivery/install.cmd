@echo off
rem Installs the connector of this folder for the user who runs this, or takes it off again:
rem   install.cmd              the scheduled task, and a source of the event log
rem   install.cmd --uninstall  stops the programs, removes task and source; versions and data stay
rem In a command prompt that was opened with "Run as administrator". Before each line stands where
rem it was run: [Wine] or [never run].
setlocal EnableExtensions DisableDelayedExpansion
set "SOURCE=terminal-connector"
set "KEY=HKLM\SYSTEM\CurrentControlSet\Services\EventLog\Application\%SOURCE%"
if "%~1"=="--uninstall" goto uninstall
if not "%~1"=="" (
  echo install.cmd: nothing but --uninstall may follow 1>&2
  exit /b 64
)
rem [Wine]
if not exist "%~dp0data\config.txt" (
  echo install.cmd: first run launch.cmd configure 1>&2
  exit /b 78
)
rem [Wine] The messages of the source are those of Windows' own eventcreate.exe.
reg add "%KEY%" /v EventMessageFile /t REG_EXPAND_SZ /d "%%SystemRoot%%\System32\EventCreate.exe" /f >nul
if errorlevel 1 goto refused
rem [Wine]
reg add "%KEY%" /v TypesSupported /t REG_DWORD /d 7 /f >nul
if errorlevel 1 goto refused
rem [Wine]
call "%~dp0always-up.cmd" --install
if errorlevel 1 exit /b %errorlevel%
rem [never run] Wine has no eventcreate.
eventcreate /L APPLICATION /T INFORMATION /ID 1 /SO "%SOURCE%" /D "Installed in %~dp0." >nul 2>&1
echo The task starts the connector within five minutes. launch.cmd status shows it.
exit /b 0

:uninstall
rem [Wine]
call "%~dp0always-up.cmd" --uninstall
if errorlevel 1 exit /b %errorlevel%
rem [Wine]
call "%~dp0launch.cmd" stop
if errorlevel 1 exit /b %errorlevel%
rem [never run]
eventcreate /L APPLICATION /T INFORMATION /ID 2 /SO "%SOURCE%" /D "Removed from %~dp0." >nul 2>&1
rem [Wine]
reg delete "%KEY%" /f >nul 2>&1
echo Versions and data stay in "%~dp0"
exit /b 0

:refused
rem [never run]
echo install.cmd: open the command prompt with "Run as administrator" 1>&2
exit /b 69
