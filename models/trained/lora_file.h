// Files with the adapters of a model, without the model.
#pragma once

#include <string>

#include "weft/graph/weights/lora.h"

namespace WEFT_API weft {

/// Returns a fingerprint of the matrices with adapters: a checksum of their names and of their
/// values as stored in the model (quantised values if they are quantised). Adapters are useless
/// with other weights. Throws GraphError if the store lacks a matrix.
std::string adapters_base(const LoraAdapters& adapters, const VariableStore& store);

/// Writes a safetensors file with the tensors "<matrix>.lora_a" and "<matrix>.lora_b". Its metadata
/// are the scale ("weft.lora.scale", a hexadecimal float), `base` if known ("weft.lora.base"), and
/// the formats of quantised matrices ("weft.lora.quantized", a JSON object {"matrix": "int8"}). The
/// file is replaced atomically. Throws IoError.
void save_lora(const std::string& path, const LoraAdapters& adapters);

/// Reads a file written by save_lora(). Throws IoError; FormatError that names missing or
/// unexpected entries, for a scale that is not positive, and for values that are not finite.
LoraAdapters load_lora(const std::string& path);

}  // namespace weft
