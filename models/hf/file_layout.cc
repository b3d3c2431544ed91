#include "weft/models/hf/file_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace weft::hf {
namespace {

/// Calls `copy(part, whole, bytes)` for every run of bytes of a part that is consecutive in the
/// whole tensor, too, with the offsets of the run in both.
template <class Copy>
void for_runs(const FileLayout& layout, const Tensor& part, const Copy& copy) {
  const std::size_t element = dtype_size(part.dtype());
  std::size_t run =
      layout.interleaved ? element : element * static_cast<std::size_t>(part.size(part.rank() - 1));
  if (layout.rows) run = part.bytes();
  const auto first = static_cast<std::size_t>(layout.part);
  const auto count = static_cast<std::size_t>(layout.parts);
  for (std::size_t i = 0; i * run < part.bytes(); ++i)
    copy(i * run, (i * count + first) * run, run);
}

Sizes whole_sizes(const FileLayout& layout, Sizes sizes) {
  sizes.erase(sizes.begin(), sizes.begin() + layout.squeezed);
  if (!sizes.empty()) (layout.rows ? sizes.front() : sizes.back()) *= layout.parts;
  return sizes;
}

/// Returns the stack of `rows`, which have equal sizes.
Tensor stacked(std::vector<Tensor> rows) {
  const bool mixed = std::any_of(rows.begin(), rows.end(), [&](const Tensor& row) {
    return row.dtype() != rows.front().dtype();
  });
  Sizes sizes = rows.front().sizes();
  sizes.insert(sizes.begin(), std::ssize(rows));
  Tensor result = Tensor::empty(mixed ? DType::f32 : rows.front().dtype(), sizes);
  std::byte* place = result.mutable_raw();
  for (Tensor& row : rows) {
    if (mixed) row = row.to(DType::f32);
    if (row.bytes() > 0) std::memcpy(place, row.raw(), row.bytes());
    place += row.bytes();
  }
  return result;
}

}  // namespace

std::string FileLayout::member(std::int64_t index) const {
  std::string name = theirs;
  return name.replace(name.find('*'), 1, std::to_string(index));
}

std::string FileLayout::label(const std::vector<std::int64_t>& absent) const {
  if (squeezed > 0) return theirs;
  if (!is_stack())
    return fmt::format("{}[{}]", theirs,
                       interleaved ? fmt::format("{}::{}", part, parts)
                                   : fmt::format("part {} of {}", part + 1, parts));
  if (absent.empty()) return theirs;
  std::string name = theirs;
  return name.replace(name.find('*'), 1, fmt::format("{{{}}}", fmt::join(absent, ",")));
}

void FileLayouts::add(FileLayout layout) {
  const std::string name = layout.ours;
  layouts_.insert_or_assign(name, std::move(layout));
}

const FileLayout* FileLayouts::find(std::string_view ours) const {
  const auto found = layouts_.find(ours);
  return found == layouts_.end() ? nullptr : &found->second;
}

std::vector<std::string> FileLayouts::file_names(const Variable& variable) const {
  const FileLayout& layout = *find(variable.name());
  if (!layout.is_stack()) return {layout.theirs};
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < variable.info().type.shape[0].constant(); ++i)
    names.push_back(layout.member(i));
  return names;
}

std::map<std::string, std::string> FileLayouts::join(const std::vector<Variable>& variables,
                                                     TensorMap& tensors) const {
  std::map<std::string, std::string> labels;
  std::set<std::string> used;
  TensorMap joined;
  for (const Variable& variable : variables) {
    const FileLayout* layout = find(variable.name());
    if (layout == nullptr) continue;
    std::string& label = labels[variable.name()];
    label = layout->label();
    const Sizes sizes = variable.info().type.shape.constant();
    if (!layout->is_stack()) {
      const auto whole = tensors.find(layout->theirs);
      if (whole == tensors.end()) continue;
      used.insert(layout->theirs);
      if (whole->second.sizes() != whole_sizes(*layout, sizes)) {
        joined[label] = whole->second;  // the matcher reports the sizes
        continue;
      }
      Tensor part = Tensor::empty(whole->second.dtype(), sizes);
      for_runs(*layout, part, [&](std::size_t to, std::size_t from, std::size_t bytes) {
        std::memcpy(part.mutable_raw() + to, whole->second.raw() + from, bytes);
      });
      joined[label] = part;
      continue;
    }
    std::vector<Tensor> rows;
    std::vector<std::int64_t> absent;
    std::string misfit;
    for (std::int64_t i = 0; i < sizes.front(); ++i) {
      const std::string name = layout->member(i);
      const auto row = tensors.find(name);
      if (row == tensors.end()) {
        absent.push_back(i);
        continue;
      }
      used.insert(name);
      rows.push_back(row->second);
      if (row->second.sizes() != Sizes(sizes.begin() + 1, sizes.end()) && misfit.empty())
        misfit = name;
    }
    if (!misfit.empty()) {
      label = misfit;
      joined[label] = tensors.at(misfit);
    } else if (absent.empty()) {
      joined[label] = stacked(std::move(rows));
    } else if (std::ssize(absent) < sizes.front()) {
      label = layout->label(absent);
    }
  }
  for (const std::string& name : used) tensors.erase(name);
  tensors.merge(joined);
  return labels;
}

void FileLayouts::split(TensorMap& ours, TensorMap& theirs) const {
  std::map<std::string, std::vector<const FileLayout*>> wholes;
  for (const auto& [name, layout] : layouts_) {
    const auto found = ours.find(name);
    if (found == ours.end()) continue;
    if (!layout.is_stack()) {
      wholes[layout.theirs].push_back(&layout);
      continue;
    }
    const Tensor& stack = found->second;
    const Sizes sizes(stack.sizes().begin() + 1, stack.sizes().end());
    for (std::int64_t i = 0; i < stack.size(0); ++i) {
      Tensor row = Tensor::empty(stack.dtype(), sizes);
      const std::size_t offset = static_cast<std::size_t>(i) * row.bytes();
      if (row.bytes() > 0) std::memcpy(row.mutable_raw(), stack.raw() + offset, row.bytes());
      theirs[layout.member(i)] = row;
    }
    ours.erase(found);
  }
  for (const auto& [name, parts] : wholes) {
    const bool complete = std::ssize(parts) == parts.front()->parts;
    Tensor whole;
    for (const FileLayout* layout : parts) {
      Tensor& part = ours.at(layout->ours);
      if (complete && !whole.defined())
        whole = Tensor::empty(part.dtype(), whole_sizes(*layout, part.sizes()));
      if (complete) {
        for_runs(*layout, part, [&](std::size_t from, std::size_t to, std::size_t bytes) {
          std::memcpy(whole.mutable_raw() + to, part.raw() + from, bytes);
        });
      }
      ours.erase(layout->ours);
    }
    if (complete) theirs[name] = whole;
  }
}

}  // namespace weft::hf
