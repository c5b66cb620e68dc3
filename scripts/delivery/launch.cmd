@echo off
rem Starts, stops and watches the connector: launch.cmd --help. Finds the version to run and hands
rem over to its launcher. This file never changes: versions\README.txt says what it relies on.
setlocal EnableExtensions DisableDelayedExpansion
set "ROOT=%~dp0"
rem Lines of their own: after "call" Wine takes every "||" for a failure.
call :named current
if errorlevel 1 call :named previous
if errorlevel 1 call :newest
if errorlevel 1 (
  echo launch.cmd: no whole version in %ROOT%versions: unpack the delivery again 1>&2
  exit /b 69
)
call "%ROOT%versions\%VERSION%\launch.cmd" %*
exit /b %errorlevel%

rem The version that the first line of a file names, when it is whole.
:named
set "VERSION="
if not exist "%ROOT%%1" exit /b 1
set /p VERSION=<"%ROOT%%1"
call :whole
exit /b %errorlevel%

rem A version is whole when its folder has the mark "complete".
:whole
if not defined VERSION exit /b 1
if "%VERSION:~0,1%"=="." exit /b 1
set "KNOWN=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.+-"
set "OTHER="
for /f "delims=%KNOWN%" %%c in ("%VERSION%") do set "OTHER=%%c"
if defined OTHER exit /b 1
if exist "%ROOT%versions\%VERSION%\complete" exit /b 0
exit /b 1

rem The newest by date of its mark.
:newest
for /f "delims=" %%f in ('dir /b /ad /o-d "%ROOT%versions" 2^>nul') do (
  set "VERSION=%%f"
  call :whole
  if not errorlevel 1 exit /b 0
)
exit /b 1
