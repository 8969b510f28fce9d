"""What the guide to clusters gives to copy is sound, as far as can be told here."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import yaml

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "cluster.md"
JOB, MACHINES = (
    yaml.safe_load(text)
    for text in re.findall(r"```yaml\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
)


def test_machines_are_as_ray_wants_them() -> None:
    """By the schema that comes with Ray."""
    ray = find_spec("ray")
    assert ray is not None
    assert ray.origin is not None
    schema = Path(ray.origin).parent / "autoscaler" / "ray-schema.json"

    jsonschema.validate(MACHINES, json.loads(schema.read_text("utf-8")))


def test_job_runs_one_ingest_whose_pods_share_a_folder() -> None:
    """Every group mounts the shared folder; workers have the GPU that is asked for."""
    spec = JOB["spec"]
    head = spec["rayClusterSpec"]["headGroupSpec"]
    (workers,) = spec["rayClusterSpec"]["workerGroupSpecs"]

    assert (JOB["apiVersion"], JOB["kind"]) == ("ray.io/v1", "RayJob")
    assert "--engine ray --ray-gpus 1 --work /shared" in spec["entrypoint"]
    for group in (head, workers):
        pod = group["template"]["spec"]
        (container,) = pod["containers"]
        mounted = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
        assert mounted[pod["volumes"][0]["name"]] == "/shared"
        limits = container["resources"]["limits"]
        assert limits == container["resources"]["requests"]
        assert ("nvidia.com/gpu" in limits) == (group is workers)
