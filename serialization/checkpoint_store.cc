// Checkpoints of Sessions and stores.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/serialization/checkpoint.h"

namespace weft {

void save_checkpoint(const std::string& path, Session& session,
                     const std::vector<Program>& programs, const SaveOptions& options) {
  for (const Program& p : programs) {
    if (p.graph() != nullptr && p.graph() != &session.graph()) {
      throw GraphError(
          fmt::format("save: program '{}' is over another graph than the session", p.name()));
    }
  }
  session.store()->check_whole("saved");
  session.initialise();
  const VariableStore& store = *session.store();
  // A session may keep keys of its own, outside of the store.
  const auto value = [&](const VariableInfo& info) {
    return store.contains(info.name) ? store.tensor(info.name) : session.value(info.name);
  };
  write_checkpoint(path, programs, value, options);
}

void save_checkpoint(const std::string& path, const VariableStore& store,
                     const std::vector<Program>& programs, const SaveOptions& options) {
  store.check_whole("saved");
  std::string missing;
  if (!programs.empty() && programs[0].graph() != nullptr) {
    for (const Variable& v : programs[0].graph()->variables()) {
      if (v.info().kind == VariableKind::cache || store.contains(v.name())) continue;
      missing += fmt::format("{}'{}'", missing.empty() ? "" : ", ", v.name());
    }
  }
  if (!missing.empty()) {
    throw StateError(fmt::format("save: the store lacks variables of the graph: {}", missing));
  }
  write_checkpoint(
      path, programs, [&](const VariableInfo& info) { return store.tensor(info.name); }, options);
}

std::shared_ptr<VariableStore> Checkpoint::store() const {
  auto store = std::make_shared<VariableStore>();
  for (const Variable& v : graph_->variables()) {
    const auto it = tensors_.find(v.name());
    if (it != tensors_.end()) store->insert(v.name(), v.info().kind, it->second);
  }
  return store;
}

}  // namespace weft
