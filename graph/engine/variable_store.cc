#include "weft/graph/engine/variable_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"

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

// Returns a tensor whose memory has no other writer. Read-only memory and memory with a single
// owner are used directly. Anything else is copied, because the variable could otherwise change
// without an update of its packed copies and snapshots.
Tensor take_over(Tensor value) {
  if (!value.buffer()->writable()) return value;
  if (value.buffer()->allocated() && sole_owner(value.buffer())) return value;
  return value.clone();
}

bool is_given(VariableKind kind) {
  return kind == VariableKind::parameter || kind == VariableKind::buffer;
}

}  // namespace

bool sole_owner(const std::shared_ptr<Buffer>& buffer) {
  if (buffer.use_count() != 1) return false;
  // use_count() is a relaxed load. Creating and destroying one more reference performs a
  // read-modify-write operation, which synchronises with the release by the last other owner.
  { const std::shared_ptr<Buffer> touch = buffer; }  // NOLINT(performance-*)
  return true;
}

const VariableStore::Entry& VariableStore::at(std::string_view name) const {
  const auto it = index_.find(std::string(name));
  if (it != index_.end()) return entries_[it->second];
  std::vector<std::string> known;
  for (const Entry& e : entries_) known.push_back(e.name);
  throw GraphError(fmt::format("no variable '{}' in the store{}; it holds: {}", name,
                               did_you_mean(name, known),
                               known.empty() ? "nothing" : list_names(known)));
}

bool VariableStore::given() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& e) { return e.inserted && is_given(e.kind); });
}

void VariableStore::check_whole_locked(std::string_view what) const {
  if (!torn_locked()) return;
  throw StateError(
      fmt::format("the variables cannot be {}: an earlier run failed while it was writing them, so "
                  "old and new values are mixed; load the last checkpoint into a new Session",
                  what));
}

template <class Lock>
Lock VariableStore::lock_when_arrived(const std::string_view* name) const {
  while (true) {
    Lock lock(mutex_);
    const std::shared_ptr<PendingUpdates> pending = pending_;
    if (pending == nullptr || (name ? pending->has_arrived(*name) : pending->have_all_arrived()))
      return lock;
    lock.unlock();
    name ? pending->wait(*name) : pending->wait_for_all();
  }
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
  const auto lock = lock_when_arrived<std::shared_lock<std::shared_mutex>>(&name);
  check_whole_locked("read");
  return at(name).value.read_only();
}

std::map<std::string, Tensor, std::less<>> VariableStore::snapshot() const {
  const auto lock = lock_when_arrived<std::shared_lock<std::shared_mutex>>();
  check_whole_locked("read");
  std::map<std::string, Tensor, std::less<>> values;
  for (const Entry& e : entries_) values.emplace(e.name, e.value.read_only());
  return values;
}

void VariableStore::allow_initialisation(const std::vector<std::string>& names) {
  const std::unique_lock lock(mutex_);
  initialisable_.insert(names.begin(), names.end());
}

void VariableStore::insert(std::string_view name, VariableKind kind, Tensor value) {
  const std::unique_lock lock(mutex_);
  if (!value.defined()) {
    throw ArgumentError(fmt::format("variable '{}' was given an undefined tensor", name));
  }
  if (!index_.emplace(std::string(name), entries_.size()).second) {
    throw StateError(fmt::format("the store already contains a variable '{}'", name));
  }
  entries_.push_back({std::string(name), kind, take_over(std::move(value)), 0, true});
}

void VariableStore::set(std::string_view name, Tensor value) {
  const std::unique_lock lock(mutex_);
  Entry& e = at(name);
  if (!value.defined()) {
    throw ArgumentError(fmt::format("variable '{}' was given an undefined tensor", name));
  }
  check_same_type(name, e.value, value);
  e.value = take_over(std::move(value));
  ++e.version;
  packed_.drop(name);
}

void VariableStore::assign(std::vector<NewValue> values) {
  const std::unique_lock lock(mutex_);
  check_whole_locked("written");
  for (const NewValue& v : values) {
    if (!v.value.defined())
      throw ArgumentError(fmt::format("variable '{}' was given an undefined tensor", v.name));
    const auto it = index_.find(v.name);
    if (it != index_.end()) check_same_type(v.name, entries_[it->second].value, v.value);
  }
  for (NewValue& v : values) {
    const auto [it, added] = index_.emplace(v.name, entries_.size());
    if (added) {
      entries_.push_back({v.name, v.kind, take_over(std::move(v.value)), 0, true});
      continue;
    }
    Entry& e = entries_[it->second];
    e.value = take_over(std::move(v.value));
    ++e.version;
    packed_.drop(v.name);
  }
}

void VariableStore::erase(VariableKind kind) {
  const std::unique_lock lock(mutex_);
  erase_if([kind](const Entry& e) { return e.kind == kind; });
}

void VariableStore::erase_if(const std::function<bool(const Entry&)>& gone) {
  for (const Entry& e : entries_) {
    if (gone(e)) packed_.drop(e.name);
  }
  std::erase_if(entries_, gone);
  index_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].name, i);
}

bool VariableStore::torn() const {
  const std::shared_lock lock(mutex_);
  return torn_locked();
}

void VariableStore::check_whole(std::string_view what) const {
  const auto lock = lock_when_arrived<std::shared_lock<std::shared_mutex>>();
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

std::shared_lock<std::shared_mutex> StoreAccess::read_lock(Pending pending) {
  if (pending == Pending::ignore) return std::shared_lock(store_.mutex_);
  return store_.lock_when_arrived<std::shared_lock<std::shared_mutex>>();
}

std::unique_lock<std::shared_mutex> StoreAccess::write_lock(Pending pending) {
  if (pending == Pending::ignore) return std::unique_lock(store_.mutex_);
  return store_.lock_when_arrived<std::unique_lock<std::shared_mutex>>();
}

void StoreAccess::check_given(const std::vector<const Wanted*>& absent, const Start& start) const {
  if (start.missing || !store_.given()) return;
  // Suggestions: variables in the store that the graph does not use are likely misnamed weights.
  std::vector<std::string> others;
  for (const VariableStore::Entry& e : store_.entries_) {
    if (start.graph == nullptr || !start.graph->has_variable(e.name)) others.push_back(e.name);
  }
  std::vector<std::string> missing;
  for (const Wanted* wanted : absent) {
    const VariableInfo& info = wanted->info;
    if (!is_given(info.kind) || store_.initialisable_.contains(info.name)) continue;
    missing.push_back(
        fmt::format("'{}' {}{}", info.name, info.type.str(), did_you_mean(info.name, others)));
  }
  if (missing.empty()) return;
  throw StateError(fmt::format(
      "the store holds other variables, but lacks {} of the graph: {}; insert {} under the graph's "
      "name, or allow missing variables to start from their initialisers "
      "(SessionOptions::initialise_missing, VariableStore::allow_initialisation)",
      missing.size() == 1 ? "a parameter" : fmt::format("{} parameters", missing.size()),
      list_names(missing), missing.size() == 1 ? "it" : "them"));
}

std::vector<std::string> StoreAccess::ensure(const std::vector<Wanted>& variables,
                                             const Start& start) {
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
  check_given(absent, start);
  std::vector<Tensor> values = Tensor::empty_together(types);
  for (std::size_t i = 0; i < absent.size(); ++i)
    fill_initial_value(absent[i]->info, start.seed, *start.workers, values[i]);
  std::vector<std::string> added;
  for (std::size_t i = 0; i < absent.size(); ++i) {
    const VariableInfo& info = absent[i]->info;
    store_.index_.emplace(info.name, store_.entries_.size());
    store_.entries_.push_back({info.name, info.kind, std::move(values[i]), 0, false});
    added.push_back(info.name);
  }
  return added;
}

void StoreAccess::erase(const std::vector<std::string>& names) {
  const auto lock = write_lock();
  store_.erase_if([&](const VariableStore::Entry& e) {
    return std::find(names.begin(), names.end(), e.name) != names.end();
  });
}

void StoreAccess::become_writer(const void* session, std::string_view why) {
  const auto lock = write_lock();
  if (store_.writer_ != nullptr && store_.writer_ != session) {
    throw StateError(
        fmt::format("another Session updates this VariableStore; only one Session may run programs "
                    "with updates (a Session releases this role when it is destroyed): {}",
                    why));
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
