#include "weft/ops/op.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/closest.h"
#include "weft/core/random.h"

namespace weft {
namespace {

// Returns true if the scanner for graph texts (graph/text/scanner.h) reads `name` as one word.
bool is_word(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void check_words(const OpRecord& record) {
  constexpr std::string_view kRule =
      "only letters, digits and '_', so that graph texts can be parsed";
  if (!is_word(record.name)) {
    throw ArgumentError(fmt::format("op record '{}': a name must contain {}", record.name, kRule));
  }
  for (const AttributeSpec& spec : record.attributes) {
    if (is_word(spec.name)) continue;
    throw ArgumentError(fmt::format("op {}: attribute '{}': a name must contain {}", record.name,
                                    spec.name, kRule));
  }
  if (record.version < 1) {
    throw ArgumentError(
        fmt::format("op {}: version must be at least 1, but is {}", record.name, record.version));
  }
}

void check_stream(std::int64_t stream) {
  if (stream >= 0 && stream <= kMaxStream) return;
  throw ArgumentError(fmt::format("stream must be from 0 to {}, but is {}", kMaxStream, stream));
}

bool before(const OpRecord& a, std::string_view name, int version) {
  return a.name != name ? a.name < name : a.version < version;
}

}  // namespace

Attributes OpRecord::complete(const Attributes& given) const {
  Attributes result;
  for (const auto& [key, value] : given) {
    const auto spec = std::find_if(attributes.begin(), attributes.end(),
                                   [&key = key](const AttributeSpec& s) { return s.name == key; });
    if (spec == attributes.end()) {
      std::vector<std::string> names;
      for (const AttributeSpec& s : attributes) names.push_back(s.name);
      throw ArgumentError(fmt::format("op {} has no attribute '{}'{}; available: {}", name, key,
                                      did_you_mean(key, names), list_names(names)));
    }
    if (value.index() != spec->default_value.index()) {
      throw ArgumentError(fmt::format("attribute '{}' of op {} must be a {}, but is a {}", key,
                                      name, attribute_type_name(spec->default_value),
                                      attribute_type_name(value)));
    }
    result.set(key, value);
  }
  for (const AttributeSpec& s : attributes) {
    if (result.find(s.name) != nullptr) continue;
    if (s.required) throw ArgumentError(fmt::format("op {} requires attribute '{}'", name, s.name));
    result.set(s.name, s.default_value);
  }
  if (has(Trait::random)) check_stream(result.integer("stream"));
  return result;
}

int OpRecord::input_index(std::string_view input) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == input) return static_cast<int>(i);
  }
  return -1;
}

void OpSet::add(OpRecord record) {
  if (record.gradient == Gradient::rule && !record.rule && record.definition) {
    record.gradient = Gradient::decomposition;
  }
  const bool kernel_needed =
      !record.has(Trait::leaf) && !record.has(Trait::alias) && !record.has_bodies();
  if (record.name.empty() || record.infer == nullptr ||
      (kernel_needed && record.kernel == nullptr)) {
    throw ArgumentError(fmt::format("op record '{}' has no {}", record.name,
                                    record.name.empty()       ? "name"
                                    : record.infer == nullptr ? "shape rule"
                                                              : "kernel"));
  }
  check_words(record);
  if (find(record.name, record.version) != nullptr) {
    throw ArgumentError(
        fmt::format("op {} version {} already exists", record.name, record.version));
  }
  auto it = std::lower_bound(
      records_.begin(), records_.end(), record,
      [](const auto& p, const OpRecord& r) { return before(*p, r.name, r.version); });
  records_.insert(it, std::make_shared<const OpRecord>(std::move(record)));
}

std::shared_ptr<const OpSet> with_ops(std::vector<OpRecord> records,
                                      std::shared_ptr<const OpSet> base) {
  OpSet ops(*base);
  for (OpRecord& record : records) ops.add(std::move(record));
  return std::make_shared<const OpSet>(std::move(ops));
}

const OpRecord* OpSet::find(std::string_view name) const {
  auto it = std::lower_bound(
      records_.begin(), records_.end(), name,
      [](const auto& p, std::string_view n) { return std::string_view(p->name) <= n; });
  if (it == records_.begin()) return nullptr;
  --it;
  return (*it)->name == name ? it->get() : nullptr;
}

const OpRecord* OpSet::find(std::string_view name, int version) const {
  auto it = std::lower_bound(
      records_.begin(), records_.end(), name,
      [version](const auto& p, std::string_view n) { return before(*p, n, version); });
  return it != records_.end() && (*it)->name == name && (*it)->version == version ? it->get()
                                                                                  : nullptr;
}

const OpRecord& OpSet::at(std::string_view name) const {
  if (const OpRecord* r = find(name)) return *r;
  std::vector<std::string> names;
  for (const auto& r : records_) names.push_back(r->name);
  const std::string closest = closest_name(name, names);
  throw ArgumentError(!closest.empty()
                          ? fmt::format("unknown op '{}'; did you mean '{}'?", name, closest)
                          : fmt::format("unknown op '{}'", name));
}

std::vector<const OpRecord*> OpSet::all() const {
  std::vector<const OpRecord*> result;
  for (const auto& r : records_) result.push_back(r.get());
  return result;
}

}  // namespace weft
