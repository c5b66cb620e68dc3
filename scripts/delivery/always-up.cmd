@echo off
rem Relaunches the connector when it is dead or hung; for the Task Scheduler, every 5 minutes.
rem Without "call": its exit code is ours.
"%~dp0launch.cmd" keep-alive %*
