@echo off
rem Relaunches the connector when it is dead or hung; for the Task Scheduler, every 5 minutes.
call "%~dp0launch.cmd" keep-alive %*
exit /b %errorlevel%
