// Adapters of a model as a small file of their own.
#pragma once

#include <string>

#include "weft/graph/weights/lora.h"

namespace weft {

/// Writes a safetensors file with "<matrix>.lora_a" and "<matrix>.lora_b", and the scale in its
/// metadata ("weft.lora.scale", a hexadecimal float). The file is replaced as a whole or not at
/// all. Throws IoError.
void save_lora(const std::string& path, const LoraAdapters& adapters);

/// Reads what save_lora wrote. Throws IoError; FormatError that names what is missing or too much.
LoraAdapters load_lora(const std::string& path);

}  // namespace weft
