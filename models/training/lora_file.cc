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
constexpr const char* kScales = "weft.lora.scales";
constexpr const char* kBase = "weft.lora.base";
constexpr const char* kQuantized = "weft.lora.quantized";
constexpr std::string_view kA = ".lora_a", kB = ".lora_b";
constexpr std::string_view kLookupA = ".lora_embedding_a", kLookupB = ".lora_embedding_b";

using Adapters = std::map<std::string, LoraAdapters::Adapter>;

/// Reads a scale. Throws ArgumentError if it is not a positive number.
double parse_scale(const std::string& text) {
  char* end = nullptr;
  const double scale = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(scale))
    throw ArgumentError(fmt::format("'{}', which is not a number", text));
  if (!(scale > 0)) throw ArgumentError(fmt::format("{}, which is not positive", scale));
  return scale;
}

std::string_view without(std::string_view name, std::string_view end) {
  return name.substr(0, name.size() - end.size());
}

bool is_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::f32)
    return true;  // other dtypes are rejected when the adapters are used
  const auto* values = tensor.data<float>();
  return std::all_of(values, values + tensor.numel(), [](float x) { return std::isfinite(x); });
}

}  // namespace

std::string adapters_base(const LoraAdapters& adapters, const VariableStore& store) {
  std::uint32_t crc = 0;
  const auto add = [&](const std::string& name) {
    crc = crc32c(name.data(), name.size(), crc);
    const auto quantized = adapters.quantized.find(name);
    const std::vector<std::string> kept = quantized == adapters.quantized.end()
                                              ? std::vector<std::string>{name}
                                              : stored_names(name, quantized->second);
    for (const std::string& part : kept) {
      Tensor tensor = store.tensor(part);
      // Folders with bf16 weights are read as they are or as f32, which are the same weights.
      if (quantized == adapters.quantized.end() && tensor.dtype() == DType::bf16)
        tensor = tensor.to(DType::f32);
      crc = crc32c(tensor.raw(), tensor.bytes(), crc);
    }
  };
  for (const auto& [name, adapter] : adapters.adapters) add(name);
  for (const auto& [name, adapter] : adapters.lookups) add(name);
  return fmt::format("{:08x}", crc);
}

void save_lora(const std::string& path, const LoraAdapters& adapters) {
  TensorMap tensors;
  nlohmann::json scales;
  const auto add = [&](const Adapters& from, std::string_view a, std::string_view b) {
    for (const auto& [name, adapter] : from) {
      tensors[name + std::string(a)] = adapter.a;
      tensors[name + std::string(b)] = adapter.b;
      if (adapter.scale) scales[name + std::string(a)] = fmt::format("{:a}", *adapter.scale);
    }
  };
  add(adapters.adapters, kA, kB);
  add(adapters.lookups, kLookupA, kLookupB);
  std::map<std::string, std::string> metadata = {{kScaleKey, fmt::format("{:a}", adapters.scale)}};
  if (!scales.empty()) metadata[kScales] = scales.dump();
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
  const auto scale_in = [&](const char* entry, const std::string& text) {
    try {
      return parse_scale(text);
    } catch (const ArgumentError& e) {
      throw fail(fmt::format("the metadata entry '{}' is {}", entry, e.what()));
    }
  };
  const auto text = file.metadata.find(kScaleKey);
  if (text == file.metadata.end())
    throw fail(fmt::format("the metadata entry '{}' is missing", kScaleKey));
  LoraAdapters result;
  result.scale = scale_in(kScaleKey, text->second);
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
    const auto put = [&, &name = name, &tensor = tensor](Adapters& adapters, std::string_view end,
                                                         Tensor LoraAdapters::Adapter::*part) {
      if (!name.ends_with(end)) return false;
      adapters[std::string(without(name, end))].*part = tensor;
      return true;
    };
    using Adapter = LoraAdapters::Adapter;
    if (!put(result.adapters, kA, &Adapter::a) && !put(result.adapters, kB, &Adapter::b) &&
        !put(result.lookups, kLookupA, &Adapter::a) && !put(result.lookups, kLookupB, &Adapter::b))
      throw fail(fmt::format("the tensor name '{}' ends neither in {} nor in {}", name, kA, kB));
  }
  if (const auto entry = file.metadata.find(kScales); entry != file.metadata.end()) {
    const nlohmann::json scales = parse_json_object(entry->second, path);
    for (const auto& [name, scale] : scales.items()) {
      const bool lookup = name.ends_with(kLookupA);
      Adapters& adapters = lookup ? result.lookups : result.adapters;
      const auto found = lookup || name.ends_with(kA)
                             ? adapters.find(std::string(without(name, lookup ? kLookupA : kA)))
                             : adapters.end();
      if (found == adapters.end())
        throw fail(
            fmt::format("the metadata entry '{}' names '{}', which is not a tensor of the "
                        "file that ends in {}",
                        kScales, name, kA));
      found->second.scale =
          scale_in(kScales, scale.is_string() ? scale.get<std::string>() : std::string());
    }
  }
  if (file.tensors.empty()) throw fail("the file contains no tensors");
  const auto check = [&](const Adapters& adapters, std::string_view a, std::string_view b) {
    for (const auto& [name, adapter] : adapters) {
      if (!adapter.a.defined() || !adapter.b.defined())
        throw fail(fmt::format("the tensor '{}{}' is missing", name, adapter.a.defined() ? b : a));
      if (!is_finite(adapter.a) || !is_finite(adapter.b))
        throw fail(fmt::format("the adapter for {} holds values that are not finite", name));
    }
  };
  check(result.adapters, kA, kB);
  check(result.lookups, kLookupA, kLookupB);
  return result;
}

}  // namespace weft
