# The grammar of EventBridge Scheduler's expressions. The AWS provider checks their length only: what is wrong would be found in the middle
# of an apply, or, with a Unix cron, be another time.
locals {
  minute  = "[0-5]?[0-9]"
  hour    = "(?:[01]?[0-9]|2[0-3])"
  day     = "(?:0?[1-9]|[12][0-9]|3[01])"
  month   = "(?:0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)"
  weekday = "(?:[1-7]|SUN|MON|TUE|WED|THU|FRI|SAT)"
  year    = "(?:19[7-9][0-9]|2[01][0-9]{2})"

  # A value or a range, perhaps in steps; several of them.
  steps = "(?:/[1-9][0-9]*)?"
  lists = {
    for field, value in { minute = local.minute, hour = local.hour, day = local.day, month = local.month, year = local.year } : field =>
    "(?:\\*|${value}(?:-${value})?)${local.steps}(?:,(?:\\*|${value}(?:-${value})?)${local.steps})*"
  }

  cron = join("", [
    "^cron\\((?i:${local.lists.minute} +${local.lists.hour} +",
    "(?:\\?|L|LW|${local.day}W|${local.lists.day}) +${local.lists.month} +",
    "(?:\\?|\\*|L|${local.weekday}L|${local.weekday}#[1-5]|${local.weekday}(?:-${local.weekday})?(?:,${local.weekday}(?:-${local.weekday})?)*) +",
    "${local.lists.year})\\)$",
  ])
  rate = "^rate\\([1-9][0-9]* (?:minutes?|hours?|days?)\\)$"
  at   = "^at\\(([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\\)$"

  grammar = {
    cron = "cron has six fields (minutes hours day-of-month month day-of-week year), of which exactly one of the two days is ?: cron(0 9 ? * MON-FRI *)"
    rate = "rate has a whole number of at least 1 and minutes, hours or days: rate(15 minutes)"
    at   = "at has a day of the calendar and a time, without a zone, which stands in `timezone`: at(2027-01-05T08:00:00)"
  }

  # Zone => the hours of the day that its clocks skip once a year. Written by tests/terraform/time_zones.py.
  time_zones = jsondecode(file("${path.module}/time-zones.json"))
  zone_names = keys(local.time_zones)
}
