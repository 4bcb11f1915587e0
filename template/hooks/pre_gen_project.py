"""Checks every answer before a file is written.

Standard library only, no git, no network, and nothing is touched: it reads the answers and either says nothing or says
what is wrong and stops, whereupon cookiecutter removes the folder it has just made.

It runs under the Python that cookiecutter itself runs under, hence no syntax newer than Python 3.6.
"""
# ruff: noqa: UP031, SIM905

import json
import keyword
import re
import sys
import unicodedata

# The answers arrive as JSON inside a raw string. Jinja's tojson also escapes ' as \u0027, so that no answer can end it.
ANSWERS = json.loads(r"""{{ cookiecutter | tojson }}""")

PYTHON_VERSIONS = ("3.11", "3.12", "3.13", "3.14")
ARCHITECTURES = ("arm64", "x86_64")
CONSUMERS = ("lambda", "ecs", "both")
SLOW_WORKLOAD = "slow"  # what `consumer = both` adds to the first one

# A package of one of these names would hide, or be hidden by, something that the project imports.
INSTALLED = set(
    """
    annotated_types attr attrs aws_lambda_powertools awslambdaric boto3 botocore build cookiecutter cruft dateutil
    dotenv iniconfig jmespath librt moto mypy mypy_extensions mypyc packaging pathspec pip pkg_resources pluggy py
    pydantic pydantic_core pydantic_settings pygments pytest ruff s3transfer setuptools six typing_extensions
    typing_inspection urllib3 wheel
    """.split()
)
# Modules that the Lambda service's own Python runtime imports, and folders of the generated project.
RESERVED = {"bootstrap", "lambda_function", "lambda_runtime_client", "dist", "src", "terraform", "tests"}
# Standard library: the running Python knows its own; these left it or came later.
STANDARD_LIBRARY = (
    set(getattr(sys, "stdlib_module_names", ()))
    | set(sys.builtin_module_names)
    | set("annotationlib asynchat asyncore compression distutils imp json smtpd test tomllib zoneinfo".split())
)
KEYWORDS = set(keyword.kwlist) | set(getattr(keyword, "softkwlist", ())) | {"case", "match", "type", "async", "await"}
# Windows refuses files and folders of these names, whatever their extension.
WINDOWS_DEVICES = {"con", "prn", "aux", "nul"} | {d + str(n) for d in ("com", "lpt") for n in range(1, 10)}
WINDOWS_RULE = "Windows reserves this name for a device, so the project could not be checked out there"

SLUG_LENGTH = 30
PACKAGE_LENGTH = 40
WORKLOAD_LENGTH = 24
TEXT_LENGTH = 200

problems = []


def refuse(name, rule, suggestion):
    problems.append((name, ANSWERS.get(name), rule, suggestion))


# ---- suggestions: the nearest legal spelling of what was typed ----


def simplified(value, separator):
    ascii_only = unicodedata.normalize("NFKD", value).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub("[^a-z0-9]+", separator, ascii_only).strip(separator)


def suggest(value, separator, length, fallback):
    name = simplified(value, separator) or fallback
    if not name[0].isalpha():
        name = "jobs" + separator + name
    name = name[:length].rstrip(separator)
    if len(name) < 2:
        name += separator + "jobs"
    return name


# ---- AWS: names of queues, topics, functions, roles and log groups ----


def check_aws_name(name, length, fallback):
    value = ANSWERS[name]
    suggestion = suggest(value, "-", length, fallback)
    if not re.match(r"[a-z][a-z0-9-]*\Z", value):
        refuse(
            name,
            "AWS names are built from it: only lower-case ASCII letters, digits and dashes, and a letter first",
            suggestion,
        )
    elif not 2 <= len(value) <= length:
        refuse(
            name,
            "2 to %d characters, so that AWS names made of it keep within 64 (it has %d)" % (length, len(value)),
            suggestion,
        )
    elif value.endswith("-"):
        refuse(name, "no dash at the end", suggestion)


def check_slug():
    name = "project_slug"
    check_aws_name(name, SLUG_LENGTH, "my-jobs")
    if ANSWERS[name] in WINDOWS_DEVICES:  # it is the name of the project's folder, too
        refuse(name, WINDOWS_RULE, ANSWERS[name] + "-jobs")


def check_workload():
    check_aws_name("first_workload", WORKLOAD_LENGTH, "default")
    value = ANSWERS["first_workload"]
    if value == "dlq" or value.endswith("-dlq"):
        refuse(
            "first_workload",
            "must not end in 'dlq': that suffix marks the dead-letter queue of a workload",
            suggest(re.sub("-?dlq$", "", value), "-", WORKLOAD_LENGTH, "default"),
        )
    if ANSWERS["consumer"] == "both" and value == SLOW_WORKLOAD:
        refuse("first_workload", "consumer=both adds a workload of this name, which runs on ECS", "default")


def check_region():
    if not re.match(r"[a-z]{2}(-[a-z]+)+-[1-9][0-9]?\Z", ANSWERS["aws_region"]):
        refuse("aws_region", "the code of an AWS region: letters, dashes and a number at the end", "eu-central-1")


# ---- Python: the name of the import package ----


def check_package():
    name = "package_name"
    value = ANSWERS[name]
    base = suggest(value, "_", PACKAGE_LENGTH - 5, "my_jobs")
    if not re.match(r"[a-z][a-z0-9_]*\Z", value):
        refuse(
            name,
            "only lower-case ASCII letters, digits and underscores, and a letter first: it is imported by this name",
            base if base not in KEYWORDS | STANDARD_LIBRARY | INSTALLED else base + "_jobs",
        )
    elif not 2 <= len(value) <= PACKAGE_LENGTH:
        refuse(name, "2 to %d characters (it has %d)" % (PACKAGE_LENGTH, len(value)), base)
    elif value.endswith("_"):
        refuse(name, "no underscore at the end", base)
    elif value in KEYWORDS:
        refuse(name, "a keyword of Python cannot be imported", value + "_jobs")
    elif value in STANDARD_LIBRARY:
        refuse(name, "would hide the standard-library module of this name", value + "_jobs")
    elif value in INSTALLED:
        refuse(name, "would hide the installed package of this name, which the project itself uses", value + "_jobs")
    elif value in RESERVED:
        refuse(name, "the project or the Lambda runtime already uses this name", value + "_jobs")
    elif value in WINDOWS_DEVICES:
        refuse(name, WINDOWS_RULE, value + "_jobs")


# ---- free text: only what would break the files it is written into ----


def one_line(value):
    """No control characters, line separators, lone surrogates or marks that reverse the reading direction."""
    hidden = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    return not any(c in hidden or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in value)


def check_text(name, example):
    value = ANSWERS[name]
    if not any(c.isalnum() for c in value):
        refuse(name, "must not be empty: at least one letter or digit", example)
    elif not one_line(value):
        printable = "".join(c if one_line(c) else " " for c in value)
        refuse(name, "one line, without control characters", " ".join(printable.split())[:TEXT_LENGTH])
    elif len(value) > TEXT_LENGTH:
        refuse(name, "at most %d characters (it has %d)" % (TEXT_LENGTH, len(value)), value[:TEXT_LENGTH].strip())


def check_module_source():
    name = "module_source"
    value = ANSWERS[name]
    example = "git::https://github.com/EXAMPLE-ORG/terraform-aws-background-jobs.git?ref=v0.1.0"
    if not value.strip() or value != value.strip():
        refuse(name, "must not be empty or have spaces around it", value.strip() or example)
    elif not one_line(value) or '"' in value or "\\" in value or "${" in value or "%{" in value:
        refuse(
            name,
            "Terraform takes it literally: one line without quotation marks, backslashes and template markers"
            " (a local path has forward slashes and starts with ./, ../ or /)",
            value.replace("\\", "/") if one_line(value) and value.count("\\") and '"' not in value else example,
        )


def check_choice(name, choices, default):
    if ANSWERS[name] not in choices:
        refuse(name, "one of " + ", ".join(choices), default)


def main():
    check_text("project_name", "My Jobs")
    check_slug()
    check_package()
    check_text("description", "My Jobs: background jobs on AWS")
    check_text("author", "The My Jobs team")
    check_choice("python_version", PYTHON_VERSIONS, "3.13")
    check_choice("architecture", ARCHITECTURES, "arm64")
    check_choice("consumer", CONSUMERS, "lambda")
    check_workload()
    check_region()
    check_module_source()
    if not problems:
        return 0
    # Standard error escapes what the terminal cannot show, so that a message never fails on the answer it reports.
    out = ["", "Nothing was generated. These answers cannot be used:"]
    for name, value, rule, suggestion in problems:
        out += ["", "  %s: %s" % (name, json.dumps(value, ensure_ascii=False))]
        out += ["    rule: " + rule, "    try:  %s=%s" % (name, json.dumps(suggestion, ensure_ascii=False))]
    sys.stderr.write("\n".join(out) + "\n\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
