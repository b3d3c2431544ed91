#include "weft/models/program/commands/inspect_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/folder.h"
#include "weft/models/hf/model.h"
#include "weft/models/program/terminal/console.h"

namespace weft::program {

int inspect_folder(const ModelPath& path, bool tensors) {
  const hf::Folder folder = hf::read_folder(path);
  if (folder.verify) {
    VariableStore all;
    for (const auto& [name, tensor] : folder.weights)
      all.insert(name, VariableKind::parameter, tensor);
    hf::check_weights(all, folder);
  }
  if (tensors) {
    for (const auto& [name, tensor] : folder.weights) say("{:<24} {}\n", tensor.type_str(), name);
    return 0;
  }
  struct Total {
    std::int64_t count = 0, elements = 0;
    double bytes = 0;
  };
  std::map<DType, Total> totals;
  double bytes = 0;
  for (const auto& [name, tensor] : folder.weights) {
    Total& total = totals[tensor.dtype()];
    ++total.count;
    total.elements += tensor.numel();
    total.bytes += static_cast<double>(tensor.bytes());
    bytes += static_cast<double>(tensor.bytes());
  }
  const std::string type = hf::with_folder_name(
      folder.path, [&] { return hf::ConfigReader(folder.config).model_type(); });
  const std::vector<std::string> known = hf::supported_model_types();  // sorted
  const std::string named = hf::architecture_of(folder.config);
  say("{}: {}, a {} (model_type \"{}\"){}\n", path.path, short_bytes(bytes),
      named.empty() ? "model" : named, type,
      std::binary_search(known.begin(), known.end(), type) ? "" : ", which is not supported");
  for (const auto& [dtype, total] : totals) {
    say("  {:<10} {} tensors, {} elements, {}\n", dtype_name(dtype), total.count,
        grouped(total.elements), short_bytes(total.bytes));
  }
  return 0;
}

}  // namespace weft::program
