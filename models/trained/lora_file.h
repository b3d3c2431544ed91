// Adapters of a model as a small file of their own.
#pragma once

#include <string>

#include "weft/graph/weights/lora.h"

namespace WEFT_API weft {

/// A word for the values of the adapters' matrices in a model, as they are kept: adapters are of no
/// use beside others. Throws GraphError where the store lacks one.
std::string adapters_base(const LoraAdapters& adapters, const VariableStore& store);

/// Writes a safetensors file with "<matrix>.lora_a" and "<matrix>.lora_b"; in its metadata the
/// scale ("weft.lora.scale", a hexadecimal float), where it is known `base` ("weft.lora.base"), and
/// what matrices of it were in fewer bits ("weft.lora.quantized", a JSON object {"matrix":
/// "int8"}). The file is replaced as a whole or not at all. Throws IoError.
void save_lora(const std::string& path, const LoraAdapters& adapters);

/// Reads what save_lora wrote. Throws IoError; FormatError that names what is missing or too much,
/// for a scale that is not positive and for values that are not finite.
LoraAdapters load_lora(const std::string& path);

}  // namespace weft
