#!/usr/bin/env python3
"""Checks deploy/kubernetes against the schemas of Kubernetes, and deploy/patroni with Patroni's own validator.

    scripts/deployments.py DIRECTORY    needs kubernetes-validate and patroni: scripts/deployments.sh installs them

Beside the schemas it checks what they cannot see: names by which resources refer to each other, and times that depend on
each other. Prints one line for each fault; exit status 1 if there is one.
"""

import contextlib
import copy
import glob
import os
import socket
import sys
import urllib.parse

import kubernetes_validate
import yaml

# The oldest release that the manifest names, and the newest whose schemas are known.
RELEASES = ("1.27", kubernetes_validate.latest_version())


def manifests(directory):
    for path in sorted(glob.glob(os.path.join(directory, "kubernetes", "*.yaml"))):
        with open(path, encoding="utf-8") as file:
            for resource in yaml.safe_load_all(file):
                if resource:
                    yield path, resource


def schema_faults(path, resource):
    name = f"{path}: {resource.get('kind')} {resource.get('metadata', {}).get('name')}"
    for release in RELEASES:
        try:
            kubernetes_validate.validate(resource, release, strict=True)
        except kubernetes_validate.ValidationError as error:
            place = ".".join(str(part) for part in error.path)
            yield f"{name}: {place}: {error.message} (Kubernetes {release})"
        except kubernetes_validate.SchemaNotFoundError:
            yield f"{name}: Kubernetes {release} has no {resource.get('apiVersion')} {resource.get('kind')}"


def reference_faults(resources):
    """What one resource says of another."""
    by_kind = {}
    for resource in resources:
        by_kind.setdefault(resource["kind"], {})[resource["metadata"]["name"]] = resource
    sets = by_kind.get("StatefulSet", {})
    for name, stateful in sets.items():
        spec = stateful["spec"]
        pod = spec["template"]
        labels = pod["metadata"]["labels"]

        def selects(selector):
            return bool(selector) and all(labels.get(key) == value for key, value in selector.items())

        if not selects(spec["selector"]["matchLabels"]):
            yield f"StatefulSet {name}: its selector does not select its pods"
        service = by_kind.get("Service", {}).get(spec["serviceName"])
        if service is None or service["spec"].get("clusterIP") != "None":
            yield f"StatefulSet {name}: {spec['serviceName']} is no headless service"
        for kind in ("Service", "PodDisruptionBudget"):
            for other, resource in by_kind.get(kind, {}).items():
                selector = resource["spec"]["selector"]
                if not selects(selector.get("matchLabels", selector)):
                    yield f"{kind} {other}: selects no pods of {name}"
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
        volumes |= {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
        for container in pod["spec"]["containers"]:
            yield from container_faults(name, container, volumes, pod["spec"])
        for volume in pod["spec"].get("volumes", []):
            wanted = volume.get("configMap", {}).get("name")
            if wanted and wanted not in by_kind.get("ConfigMap", {}):
                yield f"StatefulSet {name}: no ConfigMap {wanted}"
    for name, scaler in by_kind.get("HorizontalPodAutoscaler", {}).items():
        target = scaler["spec"]["scaleTargetRef"]
        if target["name"] not in by_kind.get(target["kind"], {}):
            yield f"HorizontalPodAutoscaler {name}: no {target['kind']} {target['name']}"
    for kind in ("PodDisruptionBudget", "HorizontalPodAutoscaler"):
        if sets and not by_kind.get(kind):
            yield f"there is no {kind}"


def container_faults(name, container, volumes, pod):
    ports = {port["name"] for port in container.get("ports", [])}
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        port = container.get(probe, {}).get("httpGet", {}).get("port")
        if port not in ports:
            yield f"StatefulSet {name}: {probe} asks the port {port}, which the container does not name"
    if "/healthz" not in str(container.get("livenessProbe")):
        yield f"StatefulSet {name}: a liveness probe other than /healthz ends programs because the database is away"
    for mount in container.get("volumeMounts", []):
        if mount["name"] not in volumes:
            yield f"StatefulSet {name}: no volume {mount['name']}"
    for wanted in ("requests", "limits"):
        if "memory" not in container.get("resources", {}).get(wanted, {}):
            yield f"StatefulSet {name}: no {wanted} of memory"
    command = " ".join(container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", []))
    words = command.split()
    if "/v1/node/drain" not in command or "--max-time" not in words:
        yield f"StatefulSet {name}: preStop does not drain the node within a time"
    elif int(words[words.index("--max-time") + 1]) + 10 > pod.get("terminationGracePeriodSeconds", 30):
        yield f"StatefulSet {name}: terminationGracePeriodSeconds leaves less than 10 s after the drain"


def known_key_faults(resources, sample):
    """Top-level keys of the service's configuration that its sample does not have."""
    with open(sample, encoding="utf-8") as file:
        known = yaml.safe_load(file)
    for resource in resources:
        for name, text in (resource.get("data") or {}).items() if resource["kind"] == "ConfigMap" else ():
            unknown = set(yaml.safe_load(text)) - set(known) - {"node", "store"}
            if unknown:
                yield f"ConfigMap {resource['metadata']['name']}: {name}: unknown keys {', '.join(sorted(unknown))}"


def database_faults(resources):
    """A database whose certificate nothing confirms: without sslrootcert, verify-full looks for a file in the home directory."""
    for resource in resources:
        for name, text in (resource.get("data") or {}).items() if resource["kind"] == "ConfigMap" else ():
            url = (yaml.safe_load(text).get("store") or {}).get("url", "")
            options = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
            if url.startswith("postgres") and (
                options.get("sslmode") != ["verify-full"] or not options.get("sslrootcert")
            ):
                yield f"ConfigMap {resource['metadata']['name']}: {name}: store.url needs sslmode=verify-full and sslrootcert"


def patroni_faults(path):
    """Asks Patroni's validator, which also tries addresses: they are replaced by some of this machine."""
    from patroni.validator import schema

    with open(path, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    dcs = config["bootstrap"]["dcs"]
    if dcs["ttl"] < dcs["loop_wait"] + 2 * dcs["retry_timeout"]:
        yield f"{path}: ttl is shorter than loop_wait + 2 × retry_timeout"
    if not dcs.get("synchronous_mode"):
        yield f"{path}: without synchronous_mode a failover loses acknowledged changes"
    tried = copy.deepcopy(config)
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in config["etcd3"]["hosts"]]
        tried["etcd3"]["hosts"] = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
        for place in (tried["restapi"], tried["postgresql"]):
            with socket.create_server(("127.0.0.1", 0)) as free:
                place["listen"] = f"127.0.0.1:{free.getsockname()[1]}"
        if not os.path.isdir(tried["postgresql"]["bin_dir"]):
            del tried["postgresql"]["bin_dir"]
        for fault in schema(tried):
            yield f"{path}: {fault}"


def main(directory):
    faults = []
    resources = []
    for path, resource in manifests(directory):
        resources.append(resource)
        faults += schema_faults(path, resource)
    if not resources:
        faults.append(f"{directory}/kubernetes has no manifest")
    faults += reference_faults(resources)
    faults += known_key_faults(resources, os.path.join(directory, "mixorchestrator.yaml"))
    faults += database_faults(resources)
    faults += patroni_faults(os.path.join(directory, "patroni", "patroni.yml"))
    for fault in faults:
        print(f"deployments: {fault}")
    if not faults:
        print(f"deployments: {len(resources)} resources for Kubernetes {' and '.join(RELEASES)}, and Patroni: sound")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
