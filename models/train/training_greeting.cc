#include "weft/models/train/training_greeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "weft/graph/run/agree.h"
#include "weft/models/fields/read_json.h"
#include "weft/serialization/crc32c.h"

namespace weft {
namespace {

// Returns a checksum of names, types and bytes that is independent of the order in which the
// variables were created.
std::string checksum_of(const VariableStore& store, VariableKind kind) {
  std::vector<std::string> names = store.names();
  std::sort(names.begin(), names.end());
  std::uint32_t crc = 0;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (store.kind(name) != kind) continue;
    const Tensor tensor = store.tensor(name);
    const std::string head = name + " " + tensor.type_str();
    crc = crc32c(head.data(), head.size(), crc);
    crc = crc32c(tensor.raw(), tensor.bytes(), crc);
    ++count;
  }
  return fmt::format("{:08x} of {}", crc, count);
}

}  // namespace

Greeting training_greeting(const Session& session, const TrainingStart& start) {
  Greeting greeting = greeting_of(start.train, session.options());
  const auto settings = nlohmann::json::parse(start.settings.to_json());
  for (const auto& [name, value] : settings.items()) {
    if (name == "shards") continue;  // greeting_of() has already added it
    greeting.add(fmt::format("the setting '{}'", name), value.dump());
  }
  greeting.add("the data (a fingerprint)", start.data);
  greeting.add("the step", std::to_string(start.step));
  greeting.add("the number of steps skipped", std::to_string(start.skipped));
  const VariableStore& store = *session.store();
  greeting.add("the parameters (a checksum)", checksum_of(store, VariableKind::parameter));
  greeting.add("the buffers (a checksum)", checksum_of(store, VariableKind::buffer));
  return greeting;
}

}  // namespace weft
