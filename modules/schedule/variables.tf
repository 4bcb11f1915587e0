variable "name" {
  description = "Name of the stack. Group and role are called `<name>-schedules`, the dead-letter queue `<name>-schedules-dlq`; the ids of occurrences begin with it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,48}[a-z0-9])?$", var.name))
    error_message = "Stack name \"${var.name}\" is not legal: use 1 to 50 lower-case letters, digits and hyphens, starting with a letter and not ending with a hyphen. Choose another name."
  }
}

variable "schedules" {
  description = "The schedules by key, which is their name. Each sends one job to a `queue` (output of modules/queue) or, for a workload without one, to the topic `topic_arn`, with the message attribute `workload`."
  type = map(object({
    workload = string
    queue = optional(object({
      arn  = string
      url  = string
      name = string
      fifo = bool
    }))
    topic_arn = optional(string)

    job          = string
    version      = optional(number, 1)
    payload_json = optional(string, "{}")

    expression              = string
    timezone                = optional(string, "UTC")
    flexible_window_minutes = optional(number)
    start                   = optional(string)
    end                     = optional(string)
    enabled                 = optional(bool, true)

    retry = optional(object({
      max_attempts    = optional(number, 185)
      max_age_seconds = optional(number, 86400)
    }), {})
    message_group_id = optional(string)
    heartbeat = optional(object({
      period_seconds = number
      actions        = optional(list(string), [])
    }))
  }))
  nullable = false

  # An id is "<name>:<key>:<time>" and must fit into the 128 characters of a deduplication id.
  validation {
    condition     = alltrue([for key in keys(var.schedules) : can(regex("^[a-z]([a-z0-9-]{0,48}[a-z0-9])?$", key))])
    error_message = join("\n", [for key in keys(var.schedules) : "Schedule \"${key}\": a key has 1 to 50 lower-case letters, digits and hyphens, starts with a letter and does not end with a hyphen. Rename it." if !can(regex("^[a-z]([a-z0-9-]{0,48}[a-z0-9])?$", key))])
  }

  validation {
    condition     = alltrue([for s in values(var.schedules) : (s.queue == null) != (s.topic_arn == null)])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": set exactly one of queue and topic_arn." if(s.queue == null) == (s.topic_arn == null)])
  }

  validation {
    condition     = alltrue([for s in values(var.schedules) : can(regex("^[a-z][a-z0-9_.-]{0,99}$", s.job))])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": job is \"${s.job}\", it must be the wire name of a job, the `name` of its class: 1 to 100 lower-case letters, digits, dots, hyphens and underscores, starting with a letter, like \"billing.invoice.send\"." if !can(regex("^[a-z][a-z0-9_.-]{0,99}$", s.job))])
  }

  validation {
    condition     = alltrue([for s in values(var.schedules) : s.version >= 1 && floor(s.version) == s.version])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": version is ${s.version}, it must be a whole number of at least 1: the `version` of the job's class that the payload was written for." if !(s.version >= 1 && floor(s.version) == s.version)])
  }

  validation {
    condition     = alltrue([for s in values(var.schedules) : can(keys(jsondecode(s.payload_json)))])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": payload_json is ${substr(s.payload_json, 0, 100)}, it must be a JSON object. Write it as jsonencode({ kind = \"full\" })." if !can(keys(jsondecode(s.payload_json)))])
  }

  # Scheduler would put its own words into the payload, which then differs in every attempt.
  validation {
    condition     = alltrue([for s in values(var.schedules) : !strcontains(s.payload_json, "aws.scheduler.")])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": payload_json holds a context attribute of Scheduler (aws.scheduler...). The job finds its time in ctx.occurrence; take it out of the payload." if strcontains(s.payload_json, "aws.scheduler.")])
  }

  # 262,144 bytes for the whole call, in which the body is JSON within JSON; 4,096 are for everything but the payload.
  validation {
    condition     = alltrue([for s in values(var.schedules) : try(length(base64encode(jsonencode(jsonencode(jsondecode(s.payload_json))))) * 3 / 4, 0) <= 258048])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": payload_json is ${floor(length(base64encode(jsonencode(jsonencode(jsondecode(s.payload_json))))) * 3 / 4)} bytes as EventBridge Scheduler keeps it, with its quotation marks escaped; 258048 fit. Store the data and pass a reference to it." if try(length(base64encode(jsonencode(jsonencode(jsondecode(s.payload_json))))) * 3 / 4, 0) > 258048])
  }

  validation {
    condition = alltrue([
      for s in values(var.schedules) :
      can(regex(local.rate, s.expression)) || can(timeadd("${regex(local.at, s.expression)[0]}Z", "0s")) || (can(regex(local.cron, s.expression)) && length(regexall("\\?", s.expression)) == 1)
    ])
    error_message = join("\n", [
      for key, s in var.schedules :
      "Schedule \"${key}\": expression is \"${s.expression}\". ${lookup(local.grammar, try(regex("^(cron|rate|at)\\(", s.expression)[0], ""), "It must be one of: ${join("; ", values(local.grammar))}")}."
      if !(can(regex(local.rate, s.expression)) || can(timeadd("${regex(local.at, s.expression)[0]}Z", "0s")) || (can(regex(local.cron, s.expression)) && length(regexall("\\?", s.expression)) == 1))
    ])
  }

  validation {
    condition     = alltrue([for s in values(var.schedules) : contains(local.zone_names, s.timezone)])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": timezone is \"${s.timezone}\", which is no name of the IANA time zone database. Write it as \"Europe/Paris\", \"America/Argentina/Buenos_Aires\" or \"UTC\"; an offset or an abbreviation knows no summer time." if !contains(local.zone_names, s.timezone)])
  }

  validation {
    condition     = alltrue([for s in values(var.schedules) : s.flexible_window_minutes == null ? true : s.flexible_window_minutes >= 1 && s.flexible_window_minutes <= 1440 && floor(s.flexible_window_minutes) == s.flexible_window_minutes])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": flexible_window_minutes is ${coalesce(s.flexible_window_minutes, 0)}, Scheduler allows whole minutes from 1 to 1440. Leave it out to have the job sent at its time." if s.flexible_window_minutes == null ? false : !(s.flexible_window_minutes >= 1 && s.flexible_window_minutes <= 1440 && floor(s.flexible_window_minutes) == s.flexible_window_minutes)])
  }

  validation {
    condition     = alltrue(flatten([for s in values(var.schedules) : [for moment in [s.start, s.end] : endswith(moment, "Z") && can(timeadd(moment, "0s")) if moment != null]]))
    error_message = join("\n", flatten([for key, s in var.schedules : [for name, moment in { start = s.start, end = s.end } : "Schedule \"${key}\": ${name} is \"${moment}\", it must be a moment in UTC, written as 2027-01-05T08:00:00Z." if moment == null ? false : !(endswith(moment, "Z") && can(timeadd(moment, "0s")))]]))
  }

  validation {
    condition     = alltrue([for s in values(var.schedules) : s.start == null || s.end == null ? true : try(timecmp(s.start, s.end) < 0, true)])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": start ${coalesce(s.start, "-")} is not before end ${coalesce(s.end, "-")}: it would never send anything. Correct one of them." if s.start == null || s.end == null ? false : !try(timecmp(s.start, s.end) < 0, true)])
  }

  validation {
    condition     = alltrue([for s in values(var.schedules) : s.retry.max_attempts >= 0 && s.retry.max_attempts <= 185 && s.retry.max_age_seconds >= 60 && s.retry.max_age_seconds <= 86400])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": retry is ${s.retry.max_attempts} attempts within ${s.retry.max_age_seconds} seconds; Scheduler allows max_attempts from 0 to 185 and max_age_seconds from 60 to 86400." if !(s.retry.max_attempts >= 0 && s.retry.max_attempts <= 185 && s.retry.max_age_seconds >= 60 && s.retry.max_age_seconds <= 86400)])
  }

  validation {
    condition     = alltrue([for s in values(var.schedules) : s.message_group_id == null ? true : can(regex("^[!-~]{1,128}$", s.message_group_id)) && try(s.queue.fifo, false)])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": message_group_id is \"${coalesce(s.message_group_id, "-")}\"; it has 1 to 128 letters, digits and punctuation, and only a FIFO queue has groups. ${try(s.queue.fifo, false) ? "Correct it" : "Leave it out"}." if s.message_group_id == null ? false : !(can(regex("^[!-~]{1,128}$", s.message_group_id)) && try(s.queue.fifo, false))])
  }

  # CloudWatch looks back seven days at most, and one and a half periods are waited for.
  validation {
    condition     = alltrue([for s in values(var.schedules) : s.heartbeat == null ? true : s.heartbeat.period_seconds >= 60 && s.heartbeat.period_seconds <= 403200 && s.queue != null])
    error_message = join("\n", [for key, s in var.schedules : "Schedule \"${key}\": heartbeat.period_seconds is ${try(s.heartbeat.period_seconds, 0)}; it must be from 60 to 403200 (CloudWatch looks back seven days, one and a half periods are waited for), and the schedule needs a queue, whose metric is watched. Watch a rarer schedule by what its job leaves behind." if s.heartbeat == null ? false : !(s.heartbeat.period_seconds >= 60 && s.heartbeat.period_seconds <= 403200 && s.queue != null)])
  }
}

variable "kms_key" {
  description = "Customer managed KMS key of the queues and topics, or null. The dead-letter queue is then encrypted with it, too."
  type = object({
    arn = string
  })
  default = null

  validation {
    condition     = var.kms_key == null ? true : can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/.+$", var.kms_key.arn))
    error_message = "${var.name}: kms_key.arn must be the ARN of a customer managed key (arn:...:key/...), not an alias or a bare id: ${try(var.kms_key.arn, "null")}."
  }
}

variable "tags" {
  description = "Tags of group, role, dead-letter queue and alarms. Schedules themselves have none."
  type        = map(string)
  default     = {}
  nullable    = false
}
