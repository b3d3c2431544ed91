#!/usr/bin/env python3
"""Reads a TensorBoard event file and prints one JSON object per event.

This reader is independent of the writer in C++ and of TensorBoard. It follows the descriptions of
TFRecord files, of the protobuf wire format, of PNG, and of the messages in TensorBoard's .proto
files. It is strict: a wrong checksum, an unknown field, a wrong wire type or an incomplete record
is an error (exit code 1), except that with --tail an incomplete last record is ignored.
"""
import json
import math
import struct
import sys
import zlib


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data, tail):
    at = 0
    while at < len(data):
        end = at + 12
        if end <= len(data):
            head = data[at:at + 8]
            if struct.unpack("<I", data[at + 8:end])[0] != masked_crc(head):
                raise ValueError(f"wrong checksum of the length at byte {at}")
            end += struct.unpack("<Q", head)[0] + 4
        if end > len(data):
            if tail:
                return
            raise ValueError(f"incomplete record at byte {at}")
        body = data[at + 12:end - 4]
        if struct.unpack("<I", data[end - 4:end])[0] != masked_crc(body):
            raise ValueError(f"wrong checksum of the data at byte {at}")
        yield body
        at = end


# Messages: field number -> (name, type). A type in a list is a repeated field.
NAMED = {
    "Event": {1: ("wall_time", "double"), 2: ("step", "int"), 3: ("file_version", "string"),
              5: ("summary", "Summary"), 7: ("session_log", "SessionLog")},
    "SessionLog": {1: ("status", "int")},
    "Summary": {1: ("value", ["Value"])},
    "Value": {1: ("tag", "string"), 2: ("simple_value", "float"), 4: ("image", "Image"),
              5: ("histo", "Histogram"), 8: ("tensor", "Tensor"), 9: ("metadata", "Metadata")},
    "Image": {1: ("height", "int"), 2: ("width", "int"), 3: ("colorspace", "int"),
              4: ("encoded_image_string", "png")},
    "Histogram": {1: ("min", "double"), 2: ("max", "double"), 3: ("num", "double"),
                  4: ("sum", "double"), 5: ("sum_squares", "double"),
                  6: ("bucket_limit", ["double"]), 7: ("bucket", ["double"])},
    "Tensor": {1: ("dtype", "int"), 2: ("tensor_shape", "Shape"), 8: ("string_val", ["string"])},
    "Shape": {2: ("dim", ["Dim"])},
    "Dim": {1: ("size", "int")},
    "Metadata": {1: ("plugin_data", "PluginData"), 4: ("data_class", "int")},
    "PluginData": {1: ("plugin_name", "string"), 2: ("content", "HParams")},
    "HParams": {2: ("experiment", "Experiment"), 3: ("session_start_info", "Start"),
                4: ("session_end_info", "End")},
    "Experiment": {3: ("time_created_secs", "double"), 4: ("hparam_infos", ["ParamInfo"]),
                   5: ("metric_infos", ["MetricInfo"])},
    "ParamInfo": {1: ("name", "string"), 4: ("type", "int")},
    "MetricInfo": {1: ("name", "MetricName")},
    "MetricName": {2: ("tag", "string")},
    "Start": {1: ("hparams", ["Entry"]), 5: ("start_time_secs", "double")},
    "Entry": {1: ("key", "string"), 2: ("value", "JsonValue")},
    "JsonValue": {2: ("number_value", "double"), 3: ("string_value", "string"),
                  4: ("bool_value", "int")},
    "End": {1: ("status", "int"), 2: ("end_time_secs", "double")},
}
WIRE = {"int": 0, "double": 1, "float": 5}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (value - (1 << 64) if value >> 63 else value), at


def parse(data, name):
    fields, result, at = NAMED[name], {}, 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if number not in fields:
            raise ValueError(f"{name} has no field {number}")
        field, kind = fields[number]
        repeated = isinstance(kind, list)
        if repeated:
            kind = kind[0]
        if wire != (2 if kind == "double" and repeated else WIRE.get(kind, 2)):
            raise ValueError(f"{name}.{field} has the wire type {wire}")
        if wire == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = varint(data, at)
            raw, at = data[at:at + size], at + size
            if len(raw) != size:
                raise ValueError(f"{name}.{field} is incomplete")
            if kind == "double" and repeated:
                result.setdefault(field, []).extend(v for (v,) in struct.iter_unpack("<d", raw))
                continue
            if kind in ("double", "float"):
                value = struct.unpack("<d" if kind == "double" else "<f", raw)[0]
                value = value if math.isfinite(value) else str(value)
            elif kind == "string":
                value = raw.decode("utf-8")
            else:
                value = decode_png(raw) if kind == "png" else parse(raw, kind)
        if repeated:
            result.setdefault(field, []).append(value)
        elif field in result:
            raise ValueError(f"{name}.{field} occurs twice")
        else:
            result[field] = value
    return result


def paeth(left, up, corner):
    estimate = left + up - corner
    return min((left, up, corner), key=lambda v: abs(estimate - v))


def decode_png(data):
    """Returns {"width", "height", "channels", "pixels"} with pixels in file order."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("not a PNG file")
    at, packed, header = 8, b"", None
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + size]
        if struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] != zlib.crc32(kind + body):
            raise ValueError(f"wrong checksum of the PNG chunk {kind}")
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    width, height, depth, colour = header[:4]
    channels = {0: 1, 2: 3}[colour]
    if depth != 8:
        raise ValueError(f"{depth} bits per channel")
    raw, stride = zlib.decompress(packed), width * channels
    rows, before = [], [0] * stride
    for y in range(height):
        line = raw[y * (stride + 1):(y + 1) * (stride + 1)]
        row = list(line[1:])
        for x in range(stride):
            left = row[x - channels] if x >= channels else 0
            corner = before[x - channels] if x >= channels else 0
            row[x] = (row[x] + [0, left, before[x], (left + before[x]) // 2,
                                paeth(left, before[x], corner)][line[0]]) & 255
        rows += row
        before = row
    return {"width": width, "height": height, "channels": channels, "pixels": rows}


def main():
    tail = "--tail" in sys.argv
    with open(sys.argv[-1], "rb") as file:
        data = file.read()
    try:
        for body in records(data, tail):
            print(json.dumps(parse(body, "Event"), allow_nan=False))
    except (ValueError, KeyError, IndexError, zlib.error, struct.error) as error:
        sys.exit(f"{sys.argv[-1]}: {error}")


if __name__ == "__main__":
    main()
