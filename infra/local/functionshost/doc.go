// Package functionshost is a stand-in for the Azure Functions host (version 4, Linux, Flex
// Consumption) that runs one custom handler on this machine: what the project's handler meets
// here is what it will meet in Azure, faults and hangs included.
//
// It was written after the sources of azure-functions-host, azure-webjobs-sdk and
// azure-webjobs-sdk-extensions as of 2026. Where they changed over time it does as the newest
// does: a handler that exits with code 0 is restarted (before 2026 it never was), 3xx answers are
// followed unless HTTP is forwarded, and a method that a function does not name is 404, never 405.
//
// A function that exceeds functionTimeout, an HTTP function too, takes the handler with it: SIGKILL
// to its process group, and a new one on the same port. A caller of an HTTP function is sent away
// with 504 after 230 s, as the platform's front end does, while the function goes on. Status and
// lock of a timer are blobs in azure-webjobs-hosts (StatusBlob, LockBlob).
//
// What it does not imitate:
//   - Other triggers and bindings than timerTrigger, httpTrigger and http; other workers than one
//     custom handler; defaultWorkerPath, workingDirectory, a fixed port and routes in host.json.
//   - A function in error. The host logs it and goes on without the function; Start fails.
//   - host.json: logging, singleton, health, concurrency and the rest are read past. Retry policies.
//   - Scale: one instance, never a second by itself. Two hosts with one HostID contend for the timers'
//     locks as two instances do.
//   - Keys in storage: a function's key and the master key are random, live in memory and end with
//     the host. There are no host-wide or system keys.
//   - The administrative interface, apart from POST /admin/functions/{name} for timers; the home page.
//   - Route templates with constraints, defaults or several parts in one segment.
//   - A request's JSON body merged into the Metadata of HTTP triggers; cookies and content
//     negotiation in HTTP outputs.
//   - Schedules as a TimeSpan, five-field schedules, and what package ncrontab refuses on purpose.
//   - Timers that fire early by themselves: set Options.Early. A zero time in a schedule's status has
//     no offset here; in Azure it may have one.
//   - The end of the host: Stop tries SIGTERM before SIGKILL, and a handler that exits with 0 or 200 is
//     started again after a tenth of a second, not at once. A handler inherits nothing of the host's
//     own environment.
//   - Lines of stderr with "warn" in them, which the host logs as warnings: here they are errors.
//   - TLS, the front end's X-Forwarded-… headers, App Service authentication, CORS.
package functionshost
