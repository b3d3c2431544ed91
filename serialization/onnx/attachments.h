// Attachments of Weft models in the metadata of ONNX files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/serialization/checkpoint.h"

namespace weft::onnx {

/// Adds one entry per attachment: the key "weft/NAME", and the type and the bytes, separated by a
/// line break. Bytes that are not valid UTF-8, such as a SentencePiece model, are written as one
/// character (U+0000 to U+00FF) per byte under the key "weft-bytes/NAME", because strings in ONNX
/// files must be valid UTF-8.
void add_attachments(const std::vector<Attachment>& attachments,
                     std::map<std::string, std::string>& metadata);

/// The inverse of add_attachments(): removes these entries from `metadata`. Throws FormatError,
/// naming the key, if an entry is damaged.
std::vector<Attachment> take_attachments(std::map<std::string, std::string>& metadata);

}  // namespace weft::onnx
