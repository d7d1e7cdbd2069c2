"""A TensorFlow.js graph of a convolutional network as an ONNX model, for onnxruntime."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]

_OPSET, _IR_VERSION = 17, 9
_SAME_OPS = {"Mul": "Mul", "Add": "Add", "AddV2": "Add", "Relu": "Relu", "Sigmoid": "Sigmoid"}
_CONVOLUTIONS = (
    "Conv2D", "_FusedConv2D", "DepthwiseConv2dNative", "FusedDepthwiseConv2dNative",
)  # fmt: skip


def onnx_of(graph: bytes, weights: bytes, outputs: Sequence[str]) -> bytes:
    """Return an ONNX model of a graph model of TensorFlow.js; images go in as (1, 3, rows, cols).

    Args:
        graph: Its JSON file.
        weights: Its only file of weights.
        outputs: Names of the nodes that become outputs, each (1, channels, rows, cols).

    Raises:
        ValueError: It holds an operation, or a use of one, that a plain convolutional network has
            not.
    """
    model = json.loads(graph)
    made = _Converter(model["modelTopology"]["node"], _tensors(model["weightsManifest"], weights))
    names = [made.tensor(name) for name in outputs]
    image = helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, *made.size])
    results = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, None, None, None]) for n in names
    ]
    whole = helper.make_graph(
        made.nodes, "network", [image], results, list(made.constants.values())
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    built = helper.make_model(whole, opset_imports=opsets, ir_version=_IR_VERSION)
    onnx.checker.check_model(built)
    return bytes(built.SerializeToString())


def _tensors(manifest: Sequence[Mapping[str, Any]], weights: bytes) -> dict[str, Array]:
    """Return name -> tensor of a file of weights, which lie one after another."""
    found: dict[str, Array] = {}
    at = 0
    for one in (entry for group in manifest for entry in group["weights"]):
        stored = np.dtype(one.get("quantization", {}).get("dtype", one["dtype"]))
        count = int(np.prod(one["shape"], dtype=np.int64))
        part = np.frombuffer(weights, stored, count, at)
        found[one["name"]] = part.reshape(one["shape"]).astype(one["dtype"])
        at += count * stored.itemsize
    if at != len(weights):
        raise ValueError(f"weights: expected {at} bytes, got {len(weights)}")
    return found


class _Converter:
    """Turns nodes into those of ONNX, each after what it takes in."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], tensors: Mapping[str, Array]) -> None:
        self._by_name = {node["name"]: node for node in nodes}
        self._tensors = tensors
        self._done: set[str] = set()
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.size: tuple[int, int] = (0, 0)

    def tensor(self, name: str) -> str:
        """Return what a node's output is called, which is made where it is not there yet."""
        if name in self._done or name in self.constants:
            return name
        node = self._by_name[name]
        op, inputs = node["op"], list(node.get("input", ()))
        if op == "Identity":
            return self.tensor(inputs[0])
        if op == "Placeholder":
            rows, cols = (int(one["size"]) for one in node["attr"]["shape"]["shape"]["dim"][1:3])
            self.size, name = (rows, cols), "images"
        elif op == "Const":
            return self._constant(name, self._tensors[name])
        elif op in _CONVOLUTIONS:
            self._convolution(node, inputs)
        elif op in _SAME_OPS:
            self._add(_SAME_OPS[op], [self.tensor(one) for one in inputs], name)
        elif op == "Relu6":
            bounds = [self._constant(f"bound_{v}", np.float32(v)) for v in (0, 6)]
            self._add("Clip", [self.tensor(inputs[0]), *bounds], name)
        elif op == "Mean" and self._tensors[inputs[1]].tolist() == [1, 2]:
            self._add("GlobalAveragePool", [self.tensor(inputs[0])], name)
        elif op == "ConcatV2":
            self._add("Concat", [self.tensor(one) for one in inputs[:-1]], name, axis=1)
        elif op == "ResizeBilinear" and not _flags(node):
            self._resize(inputs, name)
        else:
            raise ValueError(f"{name}: {op} has no counterpart here")
        self._done.add(name)
        return name

    def _add(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> None:
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))

    def _constant(self, name: str, value: Array) -> str:
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def _convolution(self, node: Mapping[str, Any], inputs: Sequence[str]) -> None:
        name, attributes = node["name"], node["attr"]
        kernel, groups = self._tensors[inputs[1]], 1
        if "Depthwise" in node["op"]:  # (rows, cols, channels, multiplier)
            rows, cols, groups, multiplier = kernel.shape
            kernel = kernel.transpose(2, 3, 0, 1).reshape(groups * multiplier, 1, rows, cols)
        else:  # (rows, cols, channels in, channels out)
            kernel = kernel.transpose(3, 2, 0, 1)
        taken = [self.tensor(inputs[0]), self._constant(f"{name}/kernel", kernel)]
        if len(inputs) > 2:
            taken.append(self._constant(f"{name}/bias", self._tensors[inputs[2]]))
        after = [_text(one) for one in attributes.get("fused_ops", {}).get("list", {}).get("s", [])]
        last = next((one for one in after if one != "BiasAdd"), "")
        out = f"{name}/before" if last else name
        same = _text(attributes["padding"]["s"]) == "SAME"
        strides = [int(one) for one in attributes["strides"]["list"]["i"][1:3]]
        self._add(
            "Conv",
            taken,
            out,
            strides=strides,
            group=groups,
            auto_pad="SAME_UPPER" if same else "VALID",
        )
        if last:
            self._add(_SAME_OPS[last], [out], name)

    def _resize(self, inputs: Sequence[str], name: str) -> None:
        size = self._tensors[inputs[1]].astype(np.int64)
        whole = self._constant(f"{name}/size", size)
        shape = f"{name}/shape"
        self._add("Shape", [self.tensor(inputs[0])], f"{name}/head", start=0, end=2)
        self._add("Concat", [f"{name}/head", whole], shape, axis=0)
        how = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
        self._add("Resize", [inputs[0], "", "", shape], name, **how)


def _text(value: str) -> str:
    return base64.b64decode(value).decode()


def _flags(node: Mapping[str, Any]) -> bool:
    """Whether a node resizes by corners or by half pixels."""
    names = ("align_corners", "half_pixel_centers")
    return any(node["attr"].get(name, {}).get("b", False) for name in names)
