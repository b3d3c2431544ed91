// Adapter files, which contain the adapters of a model but not the model itself.
#pragma once

#include <string>

#include "weft/graph/weights/lora.h"

namespace WEFT_API weft {

/// Returns a fingerprint of the matrices that have adapters: a checksum of their names and of their
/// stored (possibly quantised) values. It identifies the base weights, because adapters are useless
/// with any other weights. Throws GraphError if the store does not contain one of the matrices.
std::string adapters_base(const LoraAdapters& adapters, const VariableStore& store);

/// Writes a safetensors file with the tensors "<matrix>.lora_a" and "<matrix>.lora_b", for lookups
/// "<table>.lora_embedding_a" and "<table>.lora_embedding_b". Its metadata contain the scale
/// ("weft.lora.scale", a hexadecimal float), the scales that differ from it ("weft.lora.scales", a
/// JSON object {"matrix.lora_a": "0x1p+1"}), the
/// fingerprint `base` if it is known ("weft.lora.base"), and the formats of quantised matrices
/// ("weft.lora.quantized", a JSON object {"matrix": "int8"}). The file is replaced atomically.
/// Throws IoError.
void save_lora(const std::string& path, const LoraAdapters& adapters);

/// Reads a file written by save_lora(). Throws IoError if the file cannot be read. Throws
/// FormatError if entries are missing or unexpected, if the scale is not positive, or if a value is
/// not finite.
LoraAdapters load_lora(const std::string& path);

}  // namespace weft
