@echo off
rem Called by the launch.cmd at the root of the delivery, which has set ROOT and VERSION. The
rem runtime is the one that the file "runtime" names.
set /p RUNTIME=<"%ROOT%versions\%VERSION%\runtime"
if not defined NODE_COMPILE_CACHE set "NODE_COMPILE_CACHE=%ROOT%data\compile-cache"
"%ROOT%runtimes\%RUNTIME%\node.exe" "%ROOT%versions\%VERSION%\programs\launcher.js" %*
