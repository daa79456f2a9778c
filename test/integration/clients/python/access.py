"""Uses the client that openapi-python-client generates. Arguments: URL of the gateway, token, name of what it creates."""

import json
import sys

from olap_warden_client import AuthenticatedClient
from olap_warden_client.api.policies import create_policy, get_policy
from olap_warden_client.api.roles import (
    attach_policy,
    create_assignment,
    create_role,
    get_role,
    list_assignments,
    update_role,
)
from olap_warden_client.models import (
    AttachPolicyRequest,
    CreateAssignmentRequest,
    CreatePolicyRequest,
    CreateRoleRequest,
    UpdateRoleRequest,
)

url, token, name = sys.argv[1:4]
client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)


def required(answer):
    if answer.status_code != 200:
        raise SystemExit(f"{answer.status_code} {answer.content!r}")
    return answer.parsed


document = {
    "version": "v1",
    "statements": [{"effect": "allow", "actions": ["Query"], "resources": ["srn2:table#events"]}],
}
role_srn, policy_srn = f"srn2:role#{name}", f"srn2:policy#{name}"
policy_body = CreatePolicyRequest.from_dict({"name": name, "policyDocument": document})
required(create_policy.sync_detailed(client=client, body=policy_body))
required(create_role.sync_detailed(client=client, body=CreateRoleRequest(name=name, description="first")))
attach = AttachPolicyRequest(policy_srn=policy_srn)
required(attach_policy.sync_detailed(role_srn, client=client, body=attach))
subject = CreateAssignmentRequest.from_dict({"subject": "ada@example.com", "subjectType": "user-email"})
required(create_assignment.sync_detailed(role_srn, client=client, body=subject))
read = get_role.sync_detailed(role_srn, client=client)
role = required(read)
etag = read.headers["etag"]
body = UpdateRoleRequest.from_dict({**role.to_dict(), "description": "second"})
changed = required(update_role.sync_detailed(role_srn, client=client, body=body, if_match=etag))
lost = update_role.sync_detailed(role_srn, client=client, body=body, if_match=etag)
assignments = required(list_assignments.sync_detailed(role_srn, client=client))
policy = required(get_policy.sync_detailed(policy_srn, client=client))
print(
    json.dumps(
        {
            "description": changed.description,
            "conflict": lost.status_code,
            "subjects": [assignment.subject for assignment in assignments],
            "effects": [statement.effect for statement in policy.policy_document.statements],
        }
    )
)
