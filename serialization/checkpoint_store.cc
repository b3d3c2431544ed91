// Saving checkpoints from Sessions and stores.
#include <fmt/format.h>

#include <set>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/serialization/checkpoint_contents.h"

namespace weft {
namespace {

// Returns the variables that the programs read or update, except caches, in order of creation.
std::vector<std::string> needed_variables(const std::vector<Program>& programs) {
  std::set<std::string> needed;
  std::vector<std::string> names;
  for (const Program& p : programs) {
    if (p.graph() == nullptr) continue;
    for (const Variable& v : p.variables()) needed.insert(v.name());
  }
  if (programs.empty() || programs[0].graph() == nullptr) return names;
  for (const Variable& v : programs[0].graph()->variables()) {
    if (v.info().kind != VariableKind::cache && needed.contains(v.name()))
      names.push_back(v.name());
  }
  return names;
}

}  // namespace

TensorMap snapshot(Session& session, const std::vector<Program>& programs,
                   const std::vector<std::string>& names) {
  for (const Program& p : programs) {
    if (p.graph() != nullptr && p.graph() != &session.graph()) {
      throw GraphError(fmt::format(
          "save: program '{}' belongs to a different graph than the session", p.name()));
    }
  }
  session.store()->check_whole("saved");
  // First get the variables that are not in the store: variables that no run has needed yet, which
  // are initialised now, and variables that the session owns itself (keys). All other variables
  // come from one consistent snapshot.
  TensorMap own;
  for (const std::string& name : names) {
    if (!session.store()->contains(name)) own.emplace(name, session.value(name));
  }
  TensorMap values = session.store()->snapshot();
  values.merge(own);
  return values;
}

void save_checkpoint(const std::string& path, Session& session,
                     const std::vector<Program>& programs, const SaveOptions& options) {
  const TensorMap values = snapshot(session, programs, needed_variables(programs));
  write_checkpoint(
      path, programs, [&](const VariableInfo& info) { return values.at(info.name); }, options);
}

void save_checkpoint(const std::string& path, const VariableStore& store,
                     const std::vector<Program>& programs, const SaveOptions& options) {
  store.check_whole("saved");
  // Take a single snapshot under one lock, because another thread may be training.
  const TensorMap values = store.snapshot();
  std::vector<std::string> missing;
  for (const std::string& name : needed_variables(programs)) {
    if (!values.contains(name)) missing.push_back(fmt::format("'{}'", name));
  }
  if (!missing.empty()) {
    throw StateError(
        fmt::format("save: the store lacks variables of the graph: {}", list_names(missing)));
  }
  write_checkpoint(
      path, programs, [&](const VariableInfo& info) { return values.at(info.name); }, options);
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
