# Every alarm this module can make: what it means, and what to do first. The page docs/runbooks/<kind>.md says the rest.
#
# severity: page is for what loses work or breaks a promise while nobody looks, ticket for what can wait until morning.
# alone: pages by itself. All other pages go through the composite alarm, one page for a workload however many alarms are on; but what
# can only happen while `dead-letters` has the composite alarm on already would never be heard through it.
#
# No kind ends in "-" and another kind, so that no two workloads can have an alarm of the same name.
locals {
  kinds = {
    queue-age = {
      severity = "page"
      says     = "The oldest message has waited longer than the workload promises."
      remedy   = "See on the dashboard whether jobs fail and come back, whether the ceiling is reached, or whether nothing is received at all; mend that, or raise the ceiling."
    }
    queue-depth = {
      severity = "ticket"
      says     = "More messages wait than the workload should ever have."
      remedy   = "Find the producer that sends more than usual; raise the ceiling if what the jobs call can bear it."
    }
    queue-in-flight = {
      severity = "ticket"
      says     = "96,000 messages are in flight, at 120,000 SQS hands out no more."
      remedy   = "Jobs are put off in large numbers: find the dependency that is down, or the job that defers without end."
    }
    dead-letters = {
      severity = "page"
      says     = "The dead-letter queue holds jobs that will not run again by themselves."
      remedy   = "Read the attribute `dead` of a letter for the reason, mend the cause, then redrive."
    }
    dead-letters-growing = {
      severity = "page"
      alone    = true
      says     = "Dead letters lie there and more arrive: the cause is still at work."
      remedy   = "Stop the cause before looking at single letters: set `enabled = false` for the workload, or roll the last deployment back."
    }
    dead-letters-expiring = {
      severity = "page"
      alone    = true
      says     = "The oldest dead letter will soon be deleted by SQS, 14 days after its message was sent."
      remedy   = "Redrive or copy the letters today; what is in them exists nowhere else, unless the job has a record."
    }
    subscription-failed = {
      severity = "page"
      says     = "SNS could not deliver published jobs to the queue; they lie in the subscription's dead-letter queue."
      remedy   = "Compare the queue's policy and key policy with the plan, mend them, then redrive to the queue."
    }
    function-errors = {
      severity = "ticket"
      says     = "The function itself fails: a job that fails is no function error."
      remedy   = "Read the function's log: an import that fails, a timeout, memory that runs out or a missing permission of the runtime."
    }
    function-throttled = {
      severity = "ticket"
      says     = "Lambda refused to start the function, and every refusal uses up a receive of its messages."
      remedy   = "Find what uses up the account's concurrency, then raise the quota, lower another ceiling, or reserve concurrency for this one."
    }
    function-at-ceiling = {
      severity = "ticket"
      says     = "The function has run at its ceiling for a quarter of an hour."
      remedy   = "If the queue's age grows, raise the ceiling as far as what the jobs call can bear; if not, this is the ceiling doing its work."
    }
    function-near-timeout = {
      severity = "ticket"
      says     = "Invocations take more than 80 % of the function's timeout, those that reach it are killed."
      remedy   = "Raise the timeout, make the batches smaller, or split the longest job."
    }
    function-recursion = {
      severity = "page"
      says     = "Lambda stopped a chain of jobs that publish their next step: the last one was not run."
      remedy   = "Find the job that enqueues itself; if it is meant to, set `recursive_loop = \"Allow\"`."
    }
    event-age = {
      severity = "page"
      says     = "Events wait in front of the function for longer than the workload promises."
      remedy   = "Raise the reserved concurrency, or give the workload a queue."
    }
    events-lost = {
      severity = "page"
      says     = "Lambda could not send a failed event to the dead-letter queue: that job is lost."
      remedy   = "Mend the role's permission on the dead-letter queue, and publish the job again: its id is in the function's log."
    }
    jobs-parked = {
      severity = "ticket"
      says     = "Jobs were parked: they wait for a decision, without a time limit."
      remedy   = "List the parked jobs, read why, then release or drop each."
    }
    jobs-discarded = {
      severity = "ticket"
      says     = "Work was dropped because its deadline had passed, or because the job said so."
      remedy   = "See whether the queue was behind; if the deadline is too short for the workload, lengthen the job's `ttl`."
    }
    jobs-crashed = {
      severity = "ticket"
      says     = "Runs ended without a word: the process was killed in mid-job."
      remedy   = "Look in the log for lines with `crashed_before`: their jobs are the suspects; memory that ran out, a timeout and native code are the usual causes."
    }
    jobs-stalled = {
      severity = "ticket"
      says     = "Running jobs made no progress for so long that they were let go."
      remedy   = "Find the call without a timeout; let a job that is only slow call `ctx.progress`."
    }
    jobs-late = {
      severity = "page"
      says     = "One job in twenty takes longer, from when it was due to its end, than the workload promises."
      remedy   = "Compare time in the queue, run time and attempts on the dashboard: what grew is the cause."
    }
    delay-failed = {
      severity = "page"
      says     = "A delayed job could not be sent to its queue in an hour of trying."
      remedy   = "Mend the permission or the key that the execution's error names, then redrive the execution."
    }
    delay-timed-out = {
      severity = "page"
      says     = "A delayed job's execution reached its time limit before the job was sent."
      remedy   = "Redrive the execution, and find what kept SQS from answering."
    }
    delay-aborted = {
      severity = "page"
      says     = "An execution that held a delayed job was stopped: that job will not run."
      remedy   = "Find who stopped it or replaced the state machine, and publish the job again from the execution's input."
    }
    delay-throttled = {
      severity = "ticket"
      says     = "Step Functions held delayed jobs back, so they come late."
      remedy   = "Spread the times jobs are delayed to, or raise the quota of state transitions."
    }
    service-behind = {
      severity = "page"
      says     = "All tasks that may run are running, and the oldest message still grows older."
      remedy   = "Raise `max_tasks`, or find out why the jobs take longer than `job_seconds`."
    }
    topic-failed = {
      severity = "page"
      says     = "SNS gave up delivering published jobs to a queue."
      remedy   = "Read which subscription's dead-letter queue filled, mend the queue's policy or key, then redrive."
    }
    topic-lost = {
      severity = "page"
      says     = "SNS could neither deliver a published job nor keep it in the subscription's dead-letter queue: it is lost."
      remedy   = "Mend the policy or key of the subscription's dead-letter queue, and publish the jobs of that time again."
    }
    topic-unrouted = {
      severity = "ticket"
      says     = "Something was published without message attributes, and so to no workload: it vanished."
      remedy   = "Find the producer that does not send the attribute `workload`; jobs published by the runtime always have it."
    }
    schedule-dropped = {
      severity = "page"
      says     = "EventBridge Scheduler gave up on an occurrence: that run will not happen by itself."
      remedy   = "Read the schedule's dead-letter queue for the error, mend it, and send the occurrence again."
    }
    schedule-lost = {
      severity = "page"
      says     = "EventBridge Scheduler could not keep a dropped occurrence in the dead-letter queue: nothing is left of it."
      remedy   = "Mend the role's permission on the schedule's dead-letter queue, and enqueue the occurrence by hand."
    }
    schedule-errors = {
      severity = "ticket"
      says     = "The target of a schedule answered with errors; the occurrence is tried again."
      remedy   = "Look at the role's permission, the queue's policy and its key before the retries end."
    }
    schedule-undelivered = {
      severity = "page"
      says     = "The schedules' dead-letter queue holds occurrences that did not reach their queue."
      remedy   = "Read the attribute ERROR_CODE of a message, mend the cause, and send the body to the queue it was meant for."
    }
  }
}
