#include "weft/models/training/lora_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "weft/core/error.h"
#include "weft/serialization/files/crc32c.h"
#include "weft/serialization/files/strict_json.h"
#include "weft/serialization/safetensors.h"

namespace weft {
namespace {

constexpr const char* kScaleKey = "weft.lora.scale";
constexpr const char* kBase = "weft.lora.base";
constexpr const char* kQuantized = "weft.lora.quantized";
constexpr std::string_view kA = ".lora_a", kB = ".lora_b";

bool is_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::f32)
    return true;  // other dtypes are rejected when the adapters are used
  const auto* values = tensor.data<float>();
  return std::all_of(values, values + tensor.numel(), [](float x) { return std::isfinite(x); });
}

}  // namespace

std::string adapters_base(const LoraAdapters& adapters, const VariableStore& store) {
  std::uint32_t crc = 0;
  for (const auto& [name, adapter] : adapters.adapters) {
    crc = crc32c(name.data(), name.size(), crc);
    const auto quantized = adapters.quantized.find(name);
    const std::vector<std::string> kept = quantized == adapters.quantized.end()
                                              ? std::vector<std::string>{name}
                                              : stored_names(name, quantized->second);
    for (const std::string& part : kept) {
      const Tensor tensor = store.tensor(part);
      crc = crc32c(tensor.raw(), tensor.bytes(), crc);
    }
  }
  return fmt::format("{:08x}", crc);
}

void save_lora(const std::string& path, const LoraAdapters& adapters) {
  TensorMap tensors;
  for (const auto& [name, adapter] : adapters.adapters) {
    tensors[name + std::string(kA)] = adapter.a;
    tensors[name + std::string(kB)] = adapter.b;
  }
  std::map<std::string, std::string> metadata = {{kScaleKey, fmt::format("{:a}", adapters.scale)}};
  if (!adapters.base.empty()) metadata[kBase] = adapters.base;
  if (!adapters.quantized.empty()) {
    nlohmann::json formats;
    for (const auto& [name, format] : adapters.quantized)
      formats[name] = weight_format_name(format);
    metadata[kQuantized] = formats.dump();
  }
  write_safetensors(path, tensors, metadata);
}

LoraAdapters load_lora(const std::string& path) {
  const Safetensors file = read_safetensors(path);
  const auto fail = [&](const std::string& what) {
    return FormatError(fmt::format("{} is not a valid adapter file: {}", path, what));
  };
  const auto text = file.metadata.find(kScaleKey);
  if (text == file.metadata.end())
    throw fail(fmt::format("the metadata entry '{}' is missing", kScaleKey));
  char* end = nullptr;
  LoraAdapters result;
  result.scale = std::strtod(text->second.c_str(), &end);
  if (text->second.empty() || *end != '\0' || !std::isfinite(result.scale))
    throw fail(fmt::format("the metadata entry '{}' is '{}', which is not a number", kScaleKey,
                           text->second));
  if (!(result.scale > 0))
    throw fail(fmt::format("the metadata entry '{}' is {}, which is not positive", kScaleKey,
                           result.scale));
  if (const auto base = file.metadata.find(kBase); base != file.metadata.end())
    result.base = base->second;
  if (const auto formats = file.metadata.find(kQuantized); formats != file.metadata.end()) {
    const nlohmann::json by_name = parse_json_object(formats->second, path);
    for (const auto& [name, format] : by_name.items()) {
      try {
        result.quantized[name] =
            parse_weight_format(format.is_string() ? format.get<std::string>() : "");
      } catch (const ArgumentError& e) {
        throw fail(fmt::format("the metadata entry '{}' for {}: {}", kQuantized, name, e.what()));
      }
    }
  }
  for (const auto& [name, tensor] : file.tensors) {
    if (name.ends_with(kA)) {
      result.adapters[name.substr(0, name.size() - kA.size())].a = tensor;
    } else if (name.ends_with(kB)) {
      result.adapters[name.substr(0, name.size() - kB.size())].b = tensor;
    } else {
      throw fail(fmt::format("the tensor name '{}' ends neither in {} nor in {}", name, kA, kB));
    }
  }
  if (result.adapters.empty()) throw fail("the file contains no tensors");
  for (const auto& [name, adapter] : result.adapters) {
    if (!adapter.a.defined() || !adapter.b.defined())
      throw fail(fmt::format("the tensor '{}{}' is missing", name, adapter.a.defined() ? kB : kA));
    if (!is_finite(adapter.a) || !is_finite(adapter.b))
      throw fail(fmt::format("the adapter for {} holds values that are not finite", name));
  }
  return result;
}

}  // namespace weft
