#include "weft/serialization/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <tuple>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/graph/weights/extract.h"
#include "weft/graph/weights/matrices.h"
#include "weft/serialization/checkpoint_files.h"
#include "weft/serialization/graph_proto.h"

namespace weft {
namespace {

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", n);
  return text.empty() ? "none" : text;
}

/// Returns the sizes of a variable whose value is saved. Such a variable has no symbolic sizes.
Sizes known_sizes(const v1::Variable& variable) {
  Sizes sizes;
  for (const std::string& dim : variable.type().shape().dims()) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), size);
    if (error != std::errc() || end != dim.data() + dim.size() || size < 0) {
      throw FormatError(
          fmt::format("variable '{}': '{}' is not a valid size", variable.name(), dim));
    }
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

Checkpoint load_checkpoint(const std::string& path, const LoadOptions& options) {
  CheckpointFiles files(path);
  const Container& file = files.main();
  const Record* variables = &variables_record(file);
  const auto manifest = parse_record<v1::Variables>(file, *variables);
  Checkpoint result;
  result.producer_ = files.producer();
  if (options.verify) result.finite_ = files.check_data(manifest, options.once);
  GraphReader reader(file, options.ops);
  result.graph_ = reader.read(manifest);
  result.programs_ = reader.programs();
  if (!options.programs.empty()) {
    std::vector<Program> chosen;
    for (const std::string& name : options.programs) chosen.push_back(result.program(name));
    std::tie(result.graph_, result.programs_) = extract(chosen);
  }
  for (const v1::Variable& v : manifest.variables()) {
    if (!result.graph_->has_variable(v.name())) continue;
    const VariableInfo& info = result.graph_->find_variable(v.name()).info();
    if (info.kind == VariableKind::cache) continue;
    Tensor t = files.value(v, info.type.dtype, info.type.shape.constant(), *variables);
    // The copy is read-only, like a mapping, so that stores can share it.
    if (options.mode == LoadOptions::Mode::copy) t = t.clone().read_only();
    result.tensors_.emplace(v.name(), std::move(t));
  }
  if (const Record* record = find_record(file, RecordType::attachments)) {
    const auto attachments = parse_record<v1::Attachments>(file, *record);
    std::uint64_t copied = 0;
    for (const v1::Attachment& a : attachments.attachments()) {
      const Record& bytes =
          file.data_record(a.data(), fmt::format("attachment '{}'", a.name()), record->offset);
      copied += bytes.length;
      // Otherwise, a small file with many attachments that share a record could expand without
      // limit.
      if (copied > file.bytes())
        file.fail(record->offset, "the attachments are larger than the file");
      result.attachments_.push_back(
          {a.name(), a.type(),
           std::string(reinterpret_cast<const char*>(file.payload(bytes)), bytes.length)});
    }
  }
  return result;
}

const Program& Checkpoint::program(std::string_view name) const {
  std::vector<std::string> names;
  for (const Program& p : programs_) {
    if (p.name() == name) return p;
    names.push_back(p.name());
  }
  throw ArgumentError(fmt::format("the checkpoint has no program '{}'{}; its programs are: {}",
                                  name, did_you_mean(name, names), list(names)));
}

bool Checkpoint::has_program(std::string_view name) const {
  return std::any_of(programs_.begin(), programs_.end(),
                     [&](const Program& p) { return p.name() == name; });
}

const Attachment* Checkpoint::find_attachment(std::string_view name) const {
  for (const Attachment& a : attachments_) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

const Attachment& Checkpoint::attachment(std::string_view name) const {
  if (const Attachment* a = find_attachment(name)) return *a;
  std::vector<std::string> names;
  for (const Attachment& a : attachments_) names.push_back(a.name);
  throw ArgumentError(
      fmt::format("the checkpoint has no attachment '{}'{}; its attachments are: {}", name,
                  did_you_mean(name, names), list(names)));
}

void extract_checkpoint(const std::string& from, const std::string& to,
                        const std::vector<std::string>& programs,
                        const std::vector<std::string>& attachments, const LoadOptions& options) {
  if (programs.empty())
    throw ArgumentError(fmt::format("extract from {}: the list of programs is empty", from));
  LoadOptions chosen = options;
  chosen.programs = programs;
  const Checkpoint file = load_checkpoint(from, chosen);
  std::vector<std::string> names;
  for (const Attachment& a : file.attachments()) names.push_back(a.name);
  for (const std::string& pattern : attachments) {
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string& name) { return matches(pattern, name); })) {
      throw ArgumentError(
          fmt::format("extract from {}: no attachment matches '{}'; the attachments are: {}", from,
                      pattern, list(names)));
    }
  }
  SaveOptions kept;
  for (const Attachment& a : file.attachments()) {
    if (matches_any(attachments, a.name)) kept.attachments.push_back(a);
  }
  save_checkpoint(to, *file.store(), file.programs(), kept);
}

void verify_file(const std::string& path, std::shared_ptr<const OpSet> ops) {
  load_checkpoint(path, {.verify = true, .ops = std::move(ops)});
}

std::vector<SavedVariable> saved_variables(const std::string& path) {
  CheckpointFiles files(path);
  const Container& file = files.main();
  const Record& record = variables_record(file);
  std::vector<SavedVariable> result;
  const auto manifest = parse_record<v1::Variables>(file, record);
  for (const v1::Variable& v : manifest.variables()) {
    DType dtype = {};
    VariableKind kind = {};
    Sizes sizes;
    try {
      dtype = GraphReader::dtype(v.type().dtype());
      kind = GraphReader::kind(v.kind());
      if (kind != VariableKind::cache) sizes = known_sizes(v);
    } catch (const Error& e) {
      file.fail(record.offset, e.what());
    }
    Tensor value;
    if (kind != VariableKind::cache) value = files.value(v, dtype, sizes, record);
    const auto& dims = v.type().shape().dims();
    result.push_back(
        {v.name(),
         kind,
         v.trainable(),
         fmt::format("{}[{}]", dtype_name(dtype), fmt::join(dims.begin(), dims.end(), ", ")),
         {v.aliases().begin(), v.aliases().end()},
         std::move(value)});
  }
  return result;
}

bool is_weft_file(const std::string& path) {
  constexpr std::string_view kMagic = "\x89weft\r\n\x1a";
  const auto file = MappedFile::open(path);
  return file->bytes() >= kMagic.size() &&
         std::memcmp(file->data(), kMagic.data(), kMagic.size()) == 0;
}

}  // namespace weft
