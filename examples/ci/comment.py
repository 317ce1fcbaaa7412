#!/usr/bin/env python3
"""Posts a report as one comment on a merge request, and updates that comment in later runs.

    rollgate plan ... -o markdown=rollgate.md; python3 comment.py rollgate.md

The comment is found again by the marker in the first line of the file (<!-- rollgate:... -->) among the comments of the same author,
so that nobody else's comment is ever taken for it. Python 3.8 and its own library are enough.

GitHub  GITHUB_TOKEN (permission pull-requests: write), GITHUB_REPOSITORY, and the number of the request in PR_NUMBER or in the
        event; COMMENT_AUTHOR where the token is not that of github-actions[bot]
GitLab  GITLAB_TOKEN (a project access token with scope api), CI_PROJECT_ID, CI_MERGE_REQUEST_IID, CI_API_V4_URL

Exit codes: 0 done, 1 the service refused or was not reached, 2 something is missing here.
"""

import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

MARKER = re.compile(r"<!-- rollgate:[0-9a-z]+ -->")
TRIES = 4
MOST_PAGES = 100


class Stop(Exception):
    """An end with an exit code and a sentence."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes to the server that was named and to no other."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirect)


def need(name):
    value = os.environ.get(name, "")
    if not value:
        raise Stop(2, f"{name} is not set")
    return value


class Service:
    """An API with JSON."""

    def __init__(self, root, headers):
        url = urllib.parse.urlsplit(root)
        if url.scheme != "https" and url.hostname not in ("localhost", "127.0.0.1"):
            raise Stop(2, f"{root} is not https, and a token would be sent in the clear")
        self.root, self.headers = root.rstrip("/"), headers

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {**self.headers, "Content-Type": "application/json", "User-Agent": "rollgate-comment"}
        for attempt in range(TRIES):
            request = urllib.request.Request(self.root + path, data=data, headers=headers, method=method)
            try:
                with OPENER.open(request, timeout=30) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                # A POST that failed on the way may have been done all the same: asked again, it could be there twice.
                again = error.code == 429 or (error.code >= 500 and method != "POST")
                if not again or attempt == TRIES - 1:
                    said = error.read(2000).decode(errors="replace").replace("\n", " ")
                    raise Stop(1, f"{method} {path}: {error.code} {error.reason} {said}") from None
            except (OSError, ValueError) as error:
                if method == "POST" or attempt == TRIES - 1:
                    raise Stop(1, f"{method} {path}: {error}") from None
            time.sleep(float(os.environ.get("COMMENT_PAUSE", "2")) * (attempt + 1))
        raise AssertionError("the last attempt ends above")

    def pages(self, path):
        for page in range(1, MOST_PAGES + 1):
            items = self.ask("GET", f"{path}?per_page=100&page={page}")
            yield from items
            if len(items) < 100:
                return


class GitHub(Service):
    def __init__(self):
        token = need("GITHUB_TOKEN")
        super().__init__(
            os.environ.get("GITHUB_API_URL") or "https://api.github.com",
            {
                "Authorization": f"Bearer {token}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        self.repository = urllib.parse.quote(need("GITHUB_REPOSITORY"))
        number = os.environ.get("PR_NUMBER") or self.of_event()
        if not str(number).isdigit():
            raise Stop(2, "this is no run for a pull request; set PR_NUMBER")
        self.list = f"/repos/{self.repository}/issues/{number}/comments"
        self.author = os.environ.get("COMMENT_AUTHOR") or "github-actions[bot]"

    @staticmethod
    def of_event():
        try:
            with open(os.environ.get("GITHUB_EVENT_PATH", ""), encoding="utf-8") as file:
                event = json.load(file)
        except (OSError, ValueError):
            return ""
        return (event.get("pull_request") or event.get("issue") or {}).get("number", "")

    def is_ours(self, comment):
        return (comment.get("user") or {}).get("login") == self.author

    def update(self, comment, body):
        self.ask("PATCH", f"/repos/{self.repository}/issues/comments/{comment['id']}", {"body": body})


class GitLab(Service):
    def __init__(self):
        token = need("GITLAB_TOKEN")
        super().__init__(need("CI_API_V4_URL"), {"PRIVATE-TOKEN": token})
        project = urllib.parse.quote(need("CI_PROJECT_ID"), safe="")
        request = need("CI_MERGE_REQUEST_IID")
        if not request.isdigit():
            raise Stop(2, "CI_MERGE_REQUEST_IID is no number")
        self.list = f"/projects/{project}/merge_requests/{request}/notes"
        self.author = self.ask("GET", "/user")["id"]

    def is_ours(self, note):
        return not note.get("system") and (note.get("author") or {}).get("id") == self.author

    def update(self, note, body):
        self.ask("PUT", f"{self.list}/{note['id']}", {"body": body})


def main(arguments):
    if len(arguments) != 1:
        raise Stop(2, "usage: comment.py FILE (as -o markdown=FILE wrote it)")
    try:
        with open(arguments[0], encoding="utf-8") as file:
            body = file.read()
    except OSError as error:
        raise Stop(2, f"{arguments[0]} cannot be read: {error.strerror}") from None
    marker = body.split("\n", 1)[0].strip()
    if not MARKER.fullmatch(marker):
        raise Stop(2, f"{arguments[0]} does not start with a marker; write it with -o markdown=FILE")
    service = GitLab() if os.environ.get("GITLAB_CI") else GitHub()
    for comment in service.pages(service.list):
        if service.is_ours(comment) and (comment.get("body") or "").split("\n", 1)[0].strip() == marker:
            if comment["body"].strip() == body.strip():
                print(f"comment {comment['id']} says this already")
            else:
                service.update(comment, body)
                print(f"updated comment {comment['id']}")
            return
    print(f"posted comment {service.ask('POST', service.list, {'body': body})['id']}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Stop as stop:
        print(f"comment.py: {stop}", file=sys.stderr)
        sys.exit(stop.code)
