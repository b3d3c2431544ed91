#include "weft/models/training/training_handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "weft/graph/distributed/agree.h"
#include "weft/models/fields/read_json.h"
#include "weft/serialization/files/crc32c.h"

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

Handshake training_handshake(const Session& session, const TrainingStart& start) {
  Handshake handshake = handshake_of(start.train, session.options());
  const auto settings = nlohmann::json::parse(start.settings.to_json());
  for (const auto& [name, value] : settings.items()) {
    if (name == "shards") continue;  // handshake_of() has already added it
    handshake.add(fmt::format("the setting '{}'", name), value.dump());
  }
  handshake.add("the data (a fingerprint)", start.data);
  handshake.add("the step", std::to_string(start.step));
  handshake.add("the number of steps skipped", std::to_string(start.skipped));
  const VariableStore& store = *session.store();
  handshake.add("the parameters (a checksum)", checksum_of(store, VariableKind::parameter));
  handshake.add("the buffers (a checksum)", checksum_of(store, VariableKind::buffer));
  return handshake;
}

}  // namespace weft
