#include "weft/models/train/lora_file.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "weft/core/error.h"
#include "weft/serialization/safetensors.h"

namespace weft {
namespace {

constexpr const char* kScale = "weft.lora.scale";
constexpr std::string_view kA = ".lora_a", kB = ".lora_b";

}  // namespace

void save_lora(const std::string& path, const LoraAdapters& adapters) {
  TensorMap tensors;
  for (const auto& [name, adapter] : adapters.adapters) {
    tensors[name + std::string(kA)] = adapter.a;
    tensors[name + std::string(kB)] = adapter.b;
  }
  write_safetensors(path, tensors, {{kScale, fmt::format("{:a}", adapters.scale)}});
}

LoraAdapters load_lora(const std::string& path) {
  const Safetensors file = read_safetensors(path);
  const auto fail = [&](const std::string& what) {
    return FormatError(fmt::format("{} is no file of adapters: {}", path, what));
  };
  const auto text = file.metadata.find(kScale);
  if (text == file.metadata.end()) throw fail(fmt::format("it lacks the metadata '{}'", kScale));
  char* end = nullptr;
  LoraAdapters result;
  result.scale = std::strtod(text->second.c_str(), &end);
  if (text->second.empty() || *end != '\0' || !std::isfinite(result.scale))
    throw fail(fmt::format("its '{}' is '{}', which is not a number", kScale, text->second));
  for (const auto& [name, tensor] : file.tensors) {
    if (name.ends_with(kA)) {
      result.adapters[name.substr(0, name.size() - kA.size())].a = tensor;
    } else if (name.ends_with(kB)) {
      result.adapters[name.substr(0, name.size() - kB.size())].b = tensor;
    } else {
      throw fail(fmt::format("tensor '{}' ends neither in {} nor in {}", name, kA, kB));
    }
  }
  if (result.adapters.empty()) throw fail("it has no tensors");
  for (const auto& [name, adapter] : result.adapters) {
    if (!adapter.a.defined() || !adapter.b.defined())
      throw fail(fmt::format("it lacks '{}{}'", name, adapter.a.defined() ? kB : kA));
  }
  return result;
}

}  // namespace weft
