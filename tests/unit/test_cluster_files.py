"""What the guide to clusters gives to copy is sound, as far as can be told here."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "cluster.md"
JOB, MACHINES = (
    yaml.safe_load(text)
    for text in re.findall(r"```yaml\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
)

KUBERAY = "github.com/ray-project/kuberay/ray-operator@v1.5.0"
"""A module of Go that has the schema of jobs."""


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


@pytest.mark.thorough
def test_job_is_as_kuberay_wants_it() -> None:
    """By the schema that its operator comes with, and no field is unknown to it."""
    if (go := shutil.which("go")) is None:
        pytest.skip("Go fetches the schema")
    asked = [go, "mod", "download", "-json", KUBERAY]
    try:
        done = subprocess.run(asked, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("Go fetches nothing in time")
    if done.returncode:
        pytest.skip(f"Go fetches nothing: {done.stdout[-200:]!r}")
    bases = Path(json.loads(done.stdout)["Dir"]) / "config" / "crd" / "bases"
    crd = yaml.safe_load((bases / "ray.io_rayjobs.yaml").read_text("utf-8"))
    (schema,) = [
        version["schema"]["openAPIV3Schema"]
        for version in crd["spec"]["versions"]
        if f"ray.io/{version['name']}" == JOB["apiVersion"]
    ]
    closed = _closed(schema)

    jsonschema.validate(JOB, closed)
    wrong = json.loads(json.dumps(JOB))
    wrong["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["replica"] = 1
    with pytest.raises(jsonschema.ValidationError, match="replica"):
        jsonschema.validate(wrong, closed)


def _closed(schema: Any) -> Any:
    """Return a schema by which an object has no other fields than it names."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _closed(part) for name, part in schema.items()}
    if isinstance(made.get("properties"), dict) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made
