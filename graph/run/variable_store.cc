#include "weft/graph/run/variable_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft {
namespace {

void check_same_type(std::string_view name, const Tensor& old, const Tensor& value) {
  if (old.dtype() != value.dtype()) {
    throw DTypeError(fmt::format("variable '{}' is {}, but the new value is {}", name,
                                 old.type_str(), value.type_str()));
  }
  if (old.sizes() != value.sizes()) {
    throw ShapeError(fmt::format("variable '{}' is {}, but the new value is {}", name,
                                 old.type_str(), value.type_str()));
  }
}

}  // namespace

bool sole_owner(const std::shared_ptr<Buffer>& buffer) {
  if (buffer.use_count() != 1) return false;
  // use_count() reads without ordering. Taking and dropping one more reference does a
  // read-modify-write that acquires what the last other owner released.
  { const std::shared_ptr<Buffer> touch = buffer; }
  return true;
}

const VariableStore::Entry& VariableStore::at(std::string_view name) const {
  const auto it = index_.find(std::string(name));
  if (it != index_.end()) return entries_[it->second];
  std::string known;
  for (std::size_t i = 0; i < entries_.size() && i < 20; ++i) {
    known += (i > 0 ? ", " : "") + entries_[i].name;
  }
  if (entries_.size() > 20) known += fmt::format(" and {} more", entries_.size() - 20);
  throw GraphError(fmt::format("no variable '{}' in the store; it holds: {}", name,
                               known.empty() ? "nothing" : known));
}

void VariableStore::check_whole_locked(std::string_view what) const {
  if (!torn_) return;
  throw StateError(fmt::format(
      "the variables cannot be {}: an earlier run failed while it wrote them, so that old and new "
      "values are mixed; load the last checkpoint into a new Session",
      what));
}

bool VariableStore::contains(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  return index_.contains(std::string(name));
}

std::vector<std::string> VariableStore::names() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> names;
  for (const Entry& e : entries_) names.push_back(e.name);
  return names;
}

VariableKind VariableStore::kind(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  return at(name).kind;
}

std::uint64_t VariableStore::version(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  return at(name).version;
}

Tensor VariableStore::tensor(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  check_whole_locked("read");
  return at(name).value;
}

void VariableStore::insert(std::string_view name, VariableKind kind, Tensor value) {
  const std::unique_lock lock(mutex_);
  if (!value.defined()) {
    throw ArgumentError(fmt::format("variable '{}' was given an undefined tensor", name));
  }
  if (!index_.emplace(std::string(name), entries_.size()).second) {
    throw StateError(fmt::format("the store holds a variable '{}' already", name));
  }
  entries_.push_back({std::string(name), kind, std::move(value), 0});
}

void VariableStore::set(std::string_view name, Tensor value) {
  const std::unique_lock lock(mutex_);
  Entry& e = at(name);
  if (!value.defined()) {
    throw ArgumentError(fmt::format("variable '{}' was given an undefined tensor", name));
  }
  check_same_type(name, e.value, value);
  e.value = std::move(value);
  ++e.version;
  packed_.drop(name);
}

void VariableStore::erase(VariableKind kind) {
  const std::unique_lock lock(mutex_);
  for (const Entry& e : entries_) {
    if (e.kind == kind) packed_.drop(e.name);
  }
  std::erase_if(entries_, [&](const Entry& e) { return e.kind == kind; });
  index_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].name, i);
}

bool VariableStore::torn() const {
  const std::shared_lock lock(mutex_);
  return torn_;
}

void VariableStore::check_whole(std::string_view what) const {
  const std::shared_lock lock(mutex_);
  check_whole_locked(what);
}

std::vector<VariableStore::MemoryEntry> VariableStore::memory() const {
  const std::shared_lock lock(mutex_);
  std::vector<MemoryEntry> entries;
  for (const Entry& e : entries_) {
    entries.push_back({e.name, e.kind, e.value.type_str(), e.value.bytes(), packed_.bytes(e.name)});
  }
  return entries;
}

std::size_t VariableStore::bytes() const {
  const std::shared_lock lock(mutex_);
  std::size_t total = packed_.bytes();
  for (const Entry& e : entries_) total += e.value.bytes();
  return total;
}

void StoreAccess::ensure(const std::vector<Wanted>& variables, std::uint64_t seed,
                         Workers& workers) {
  const auto lock = write_lock();
  std::vector<const Wanted*> absent;
  std::vector<std::pair<DType, Sizes>> types;
  for (const Wanted& wanted : variables) {
    const auto& [info, sizes] = wanted;
    const auto it = store_.index_.find(info.name);
    if (it == store_.index_.end()) {
      absent.push_back(&wanted);
      types.emplace_back(info.type.dtype, sizes);
      continue;
    }
    const VariableStore::Entry& e = store_.entries_[it->second];
    if (e.kind != info.kind || e.value.dtype() != info.type.dtype || e.value.sizes() != sizes) {
      throw StateError(
          fmt::format("variable '{}' is a {} {}{} in the graph, but a {} {} in the store",
                      info.name, variable_kind_name(info.kind), dtype_name(info.type.dtype),
                      to_string(sizes), variable_kind_name(e.kind), e.value.type_str()));
    }
  }
  std::vector<Tensor> values = Tensor::empty_together(types);
  for (std::size_t i = 0; i < absent.size(); ++i)
    fill_initial_value(absent[i]->info, seed, workers, values[i]);
  for (std::size_t i = 0; i < absent.size(); ++i) {
    const VariableInfo& info = absent[i]->info;
    store_.index_.emplace(info.name, store_.entries_.size());
    store_.entries_.push_back({info.name, info.kind, std::move(values[i]), 0});
  }
}

void StoreAccess::become_writer(const void* session) {
  const auto lock = write_lock();
  if (store_.writer_ != nullptr && store_.writer_ != session) {
    throw StateError(
        "another Session updates this VariableStore; only one may, the others can run programs "
        "without updates (a Session gives the role back when it is destroyed)");
  }
  store_.writer_ = session;
}

void StoreAccess::release_writer(const void* session) {
  const auto lock = write_lock();
  if (store_.writer_ == session) store_.writer_ = nullptr;
}

Tensor& StoreAccess::writable(std::string_view name) {
  Tensor& value = store_.at(name).value;
  if (!value.buffer()->writable() || !sole_owner(value.buffer())) value = value.clone();
  return value;
}

}  // namespace weft
