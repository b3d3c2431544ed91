#include "weft/models/program/commands/inspect_gguf.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "weft/core/excerpt.h"
#include "weft/core/shape.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/gguf/model.h"
#include "weft/models/program/terminal/console.h"

namespace weft::program {
namespace {

std::string value_text(const GgufValue& value) {
  if (value.is_array()) return value.type_str();
  return std::visit(
      [&](const auto& items) {
        if constexpr (std::is_same_v<std::decay_t<decltype(items.front())>, std::string>) {
          return fmt::format("\"{}\"", excerpt(items.front()));
        } else if constexpr (std::is_same_v<std::decay_t<decltype(items.front())>, double>) {
          return fmt::format("{}", static_cast<float>(items.front()));
        } else if (value.type() == GgufType::boolean) {
          return std::string(items.front() != 0 ? "true" : "false");
        } else {
          return fmt::format("{}", items.front());
        }
      },
      value.items());
}

/// Prints the fields of a config that differ from the defaults.
void print_config(const GptConfig& config) {
  const auto own = nlohmann::json::parse(config.to_json());
  const auto usual = nlohmann::json::parse(GptConfig().to_json());
  for (const auto& [field, value] : own.items()) {
    if (value != usual.at(field)) say("  {:<22} {}\n", field, excerpt(value.dump()));
  }
}

}  // namespace

int inspect_gguf(const std::string& path, bool tensors) {
  if (tensors) {
    for (const GgufTensor& tensor : read_gguf(path).tensors)
      say("{:<6} {:<20} {}\n", ggml_type_name(tensor.type), Shape(tensor.sizes).str(),
          excerpt(tensor.name));
    return 0;
  }
  const gguf::ModelFile model = gguf::read_model(path);
  struct Total {
    int count = 0;
    std::int64_t elements = 0;
    double bytes = 0;
  };
  std::map<GgmlType, Total> totals;
  std::int64_t parameters = 0;
  for (const GgufTensor& tensor : model.file.tensors) {
    Total& total = totals[tensor.type];
    ++total.count;
    total.elements += num_elements(tensor.sizes);
    total.bytes += static_cast<double>(tensor.data.bytes());
    parameters += num_elements(tensor.sizes);
  }
  say("{}: {}, a {} of {} parameters (GGUF)\n", path,
      short_bytes(static_cast<double>(std::filesystem::file_size(path))), model.architecture,
      short_number(static_cast<double>(parameters)));
  for (const auto& [type, total] : totals) {
    say("  {:<10} {} tensors, {} elements, {}\n", ggml_type_name(type), total.count,
        grouped(total.elements), short_bytes(total.bytes));
  }
  say("config\n");
  print_config(model.config);
  say("metadata\n");
  for (const GgufMetadata::Entry& entry : model.file.metadata.entries())
    say("  {:<22} {}\n", excerpt(entry.key), value_text(entry.value));
  if (!model.text.tokenizer) say("note      {}\n", model.text.missing);
  for (const std::string& note : model.notes) say("note      {}\n", note);
  return 0;
}

}  // namespace weft::program
