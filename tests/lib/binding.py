# SPDX-License-Identifier: MIT
"""binding.py FILE NAME JSON [merge]: puts a binding into a sandrun.json (made when absent); with "merge", its members
into the binding that is there."""
import json
import os
import sys

path, name, text = sys.argv[1:4]
policy = {'version': 1, 'bindings': {}}
if os.path.exists(path):
    with open(path) as f:
        policy = json.load(f)
given = json.loads(text)
if 'merge' in sys.argv[4:]:
    policy['bindings'][name].update(given)
else:
    policy['bindings'][name] = given
with open(path, 'w') as f:
    json.dump(policy, f, indent=2)
    f.write('\n')
