"""EC2 for the device tests: moto with two instances, which checks signatures and rights as IAM does.

The first line of stdin is JSON with the secret key, since arguments can be read by others. After that each line is a
question about the truth: `get <id>` or `set <id> <state>`, answered by the state. The end of stdin ends the process.
"""

import json
import sys
import threading

given = json.loads(sys.stdin.readline())

import boto3  # noqa: E402
from moto import settings  # noqa: E402
from moto.backends import get_backend  # noqa: E402
from moto.ec2.models.instances import StateReason  # noqa: E402
from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: E402
from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: E402

ACCOUNT, REGION = "123456789012", "eu-central-1"
CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}

iam = get_backend("iam")[ACCOUNT]["aws"]
ec2 = get_backend("ec2")[ACCOUNT][REGION]


def key_of(user, actions):
    iam.create_user("us-east-1", user)
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}
    iam.put_user_policy(user, "fencing", json.dumps(policy))
    key = iam.create_access_key(user)
    key.secret_access_key = given["secret"]
    return key.access_key_id


class Quiet(WSGIRequestHandler):
    def log_request(self, *_):
        pass


server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True, request_handler=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
login = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nothing", "region_name": REGION}
client = boto3.client("ec2", endpoint_url=f"http://127.0.0.1:{server.port}", **login)
[image, *_] = client.describe_images()["Images"]


def run(name):
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": name}]}]
    made = client.run_instances(ImageId=image["ImageId"], MinCount=1, MaxCount=1, TagSpecifications=tags)
    [instance] = made["Instances"]
    zone, dns = instance["Placement"]["AvailabilityZone"], instance["PrivateDnsName"]
    return {"id": instance["InstanceId"], "zone": zone, "dns": dns}


instances = [run(name) for name in ("machine-a", "machine-b", "twin", "twin")]
keys = {
    "fencing": key_of("fencing", ["ec2:DescribeInstances", "ec2:StopInstances", "ec2:StartInstances"]),
    "reading": key_of("reading", ["ec2:DescribeInstances"]),
}
# From here on nobody gets in without a signature.
settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
print(json.dumps({"port": server.port, "keys": keys, "instances": instances}), flush=True)

for line in sys.stdin:
    what, instance_id, *state = line.split()
    instance = ec2.get_instance(instance_id)
    if what == "set":
        instance._state.name, instance._state.code = state[0], CODES[state[0]]
        reason = state[1] if len(state) > 1 else "Client.UserInitiatedShutdown"
        instance.state_reason = StateReason(reason, reason)
    print(instance.state, flush=True)
