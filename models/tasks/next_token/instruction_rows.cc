#include "weft/models/tasks/next_token/instruction_rows.h"

#include <algorithm>
#include <utility>

#include "weft/models/data/batching/shuffle.h"
#include "weft/models/text/chat/encode_chat.h"

namespace weft {
namespace {

constexpr std::int32_t kNotCounted = -100;
constexpr std::string_view kInstructionLosses[] = {"answers", "all"};

/// Returns the examples in each row, using first-fit packing into the rows that are still open.
std::vector<std::vector<std::size_t>> pack(const std::vector<InstructionExample>& examples,
                                           std::int64_t context, std::uint64_t seed) {
  constexpr std::size_t kOpen = 32;  // number of open rows to try
  std::vector<std::vector<std::size_t>> rows;
  std::vector<std::int64_t> room;
  std::size_t first = 0;  // the oldest open row
  for (const std::int64_t place : shuffled(std::ssize(examples), seed)) {
    const auto example = static_cast<std::size_t>(place);
    const std::int64_t size = std::ssize(examples[example].inputs);
    std::size_t row = first;
    while (row < rows.size() && room[row] < size) ++row;
    if (row == rows.size()) {
      rows.emplace_back();
      room.push_back(context);
      if (rows.size() - first > kOpen) ++first;
    }
    rows[row].push_back(example);
    room[row] -= size;
  }
  return rows;
}

}  // namespace

ChoiceNames choice_names(InstructionLoss) { return {"loss", kInstructionLosses}; }

std::int64_t InstructionExample::counted() const {
  return std::ssize(targets) - std::count(targets.begin(), targets.end(), kNotCounted);
}

InstructionExample make_example(const Tokenizer& tokenizer, const ChatFormat& format,
                                const Conversation& turns, InstructionLoss loss) {
  const EncodeChatOptions usual;
  const EncodedChat chat = encode_chat(tokenizer, format, turns, usual);
  InstructionExample example;
  for (std::size_t i = 0; i + 1 < chat.size(); ++i) {
    const bool counts = loss == InstructionLoss::all || chat.answer[i + 1] != 0;
    example.inputs.push_back(chat.ids[i]);
    example.targets.push_back(counts ? chat.ids[i + 1] : kNotCounted);
  }
  return example;
}

InstructionRows::InstructionRows(std::vector<InstructionExample> examples, std::int64_t context,
                                 std::uint64_t seed, bool packed)
    : examples_(std::move(examples)), context_(context), epochs_(0, seed) {
  without_targets_ = static_cast<std::int64_t>(std::erase_if(
      examples_, [](const InstructionExample& example) { return example.counted() == 0; }));
  too_long_ =
      static_cast<std::int64_t>(std::erase_if(examples_, [&](const InstructionExample& example) {
        return std::ssize(example.inputs) > context;
      }));
  for (const InstructionExample& example : examples_) {
    tokens_ += std::ssize(example.inputs);
    counted_ += example.counted();
  }
  if (packed) {
    rows_ = pack(examples_, context, seed);
  } else {
    for (std::size_t i = 0; i < examples_.size(); ++i) rows_.push_back({i});
  }
  epochs_ = Epochs(size(), seed);
}

std::int64_t InstructionRows::length(std::int64_t row) const {
  std::int64_t length = 0;
  for (const std::size_t example : rows_[static_cast<std::size_t>(row)])
    length += std::ssize(examples_[example].inputs);
  return length;
}

InstructionBatch InstructionRows::make(std::span<const std::int64_t> rows,
                                       std::int64_t length) const {
  const std::int64_t count = std::ssize(rows);
  Tensor tokens = Tensor::zeros(DType::i32, {count, length}),
         targets = Tensor::full(DType::i32, {count, length}, kNotCounted),
         segments = Tensor::zeros(DType::i32, {count, length}),
         positions = Tensor::zeros(DType::i64, {count, length});
  auto* const ids = tokens.mutable_data<std::int32_t>();
  auto* const next = targets.mutable_data<std::int32_t>();
  auto* const own = segments.mutable_data<std::int32_t>();
  auto* const places = positions.mutable_data<std::int64_t>();
  InstructionBatch batch;
  for (std::int64_t r = 0; r < count; ++r) {
    std::int64_t at = r * length;
    std::int32_t segment = 0;  // segment of the padding; only padding attends to it
    for (const std::size_t place : rows_[static_cast<std::size_t>(rows[r])]) {
      const InstructionExample& example = examples_[place];
      ++segment;
      for (std::size_t i = 0; i < example.inputs.size(); ++i, ++at) {
        ids[at] = example.inputs[i];
        next[at] = example.targets[i];
        own[at] = segment;
        places[at] = static_cast<std::int64_t>(i);
      }
      batch.tokens += std::ssize(example.inputs);
      batch.counted += example.counted();
    }
  }
  batch.inputs = {
      {"tokens", tokens}, {"targets", targets}, {"segments", segments}, {"positions", positions}};
  return batch;
}

InstructionBatch InstructionRows::batch(std::int64_t rows, const BatchPart& part) const {
  return make(epochs_.examples(part, rows), context_);
}

InstructionBatch InstructionRows::in_order(std::int64_t first, std::int64_t count) const {
  std::vector<std::int64_t> rows;
  std::int64_t longest = 0;
  for (std::int64_t row = first; row < std::min(first + count, size()); ++row) {
    rows.push_back(row);
    longest = std::max(longest, length(row));
  }
  return make(rows, longest);
}

}  // namespace weft
