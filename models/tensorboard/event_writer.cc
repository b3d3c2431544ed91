#include "weft/models/tensorboard/event_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "weft/core/overload.h"
#include "weft/models/data/images/encode_png.h"
#include "weft/models/tensorboard/proto_message.h"
#include "weft/serialization/files/crc32c.h"

namespace weft {
namespace {

constexpr std::size_t kMaxPending = std::size_t{1} << 20;
constexpr int kBuckets = 64;

// Field numbers and constants of the messages Event, Summary, TensorProto and HParamsPluginData.
constexpr int kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr int kSimpleValue = 2, kImage = 4, kHistogram = 5, kTensor = 8, kMetadata = 9;
constexpr int kFloat = 1, kString = 7;  // TensorProto.dtype
constexpr int kTensorClass = 2;         // SummaryMetadata.data_class
constexpr int kExperiment = 2, kSessionStart = 3, kSessionEnd = 4;

double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void append_fixed(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> 8 * i);
}

// The checksum is masked because the checksum of data that contains its own checksum is weak.
std::uint32_t masked_crc(std::string_view data) {
  const std::uint32_t crc = crc32c(data.data(), data.size());
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

ProtoMessage summary_value(std::string_view tag, int field, const ProtoMessage& value) {
  return ProtoMessage().message(1, ProtoMessage().bytes(1, tag).message(field, value));
}

/// Returns a Summary with a tensor for the plugin `plugin`. `content` is the plugin's own message.
ProtoMessage plugin_summary(std::string_view tag, std::string_view plugin, std::string_view content,
                            const ProtoMessage& tensor) {
  ProtoMessage metadata;
  metadata.message(1, ProtoMessage().bytes(1, plugin).bytes(2, content)).integer(4, kTensorClass);
  return ProtoMessage().message(
      1, ProtoMessage().bytes(1, tag).message(kMetadata, metadata).message(kTensor, tensor));
}

/// Returns the value as google.protobuf.Value.
ProtoMessage json_value(const EventWriter::HyperParameter& value) {
  ProtoMessage result;
  std::visit(Overload{[&](double number) { result.real(2, number); },
                      [&](bool flag) { result.integer(4, flag ? 1 : 0); },
                      [&](const std::string& text) { result.bytes(3, text); }},
             value);
  return result;
}

/// Returns the number of hparams.DataType.
int data_type(const EventWriter::HyperParameter& value) {
  return std::holds_alternative<std::string>(value) ? 1
         : std::holds_alternative<bool>(value)      ? 2
                                                    : 3;
}

/// Creates a file that does not exist yet. Returns its descriptor and sets `path`.
int create_event_file(const std::string& folder, std::string& path) {
  namespace fs = std::filesystem;
  const auto fail = [&](const std::string& why) {
    throw IoError(
        fmt::format("cannot write TensorBoard events to {}: {}: name a folder that can be created "
                    "or written",
                    folder, why));
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(error.message());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host = {"localhost"};
  const auto time = static_cast<std::int64_t>(seconds_since_epoch());
  for (int number = 0;; ++number) {
    path = (fs::path(folder) / fmt::format("events.out.tfevents.{:010}.{}.{}.{}", time, host.data(),
                                           ::getpid(), number))
               .string();
    const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return fd;
    if (errno != EEXIST) fail(std::strerror(errno));
  }
}

}  // namespace

EventWriter::EventWriter(const std::string& folder, EventWriterOptions options)
    : options_(std::move(options)), written_at_(std::chrono::steady_clock::now()) {
  fd_ = create_event_file(folder, path_);
  const std::int64_t step = options_.purge_step.value_or(0);
  add(step, kFileVersion, "brain.Event:2");
  // SessionLog::START makes TensorBoard hide earlier events from this step on.
  if (options_.purge_step) add(step, kSessionLog, ProtoMessage().integer(1, 1).str());
  try {
    flush();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

EventWriter::~EventWriter() {
  try {
    flush();
  } catch (const IoError&) {  // a destructor cannot report it
  }
  ::close(fd_);
}

void EventWriter::add(std::int64_t step, int field, std::string_view content) {
  if (failed_) return;
  const std::string event =
      ProtoMessage().real(1, seconds_since_epoch()).integer(2, step).bytes(field, content).str();
  std::string length;
  append_fixed(length, event.size(), 8);
  pending_ += length;
  append_fixed(pending_, masked_crc(length), 4);
  pending_ += event;
  append_fixed(pending_, masked_crc(event), 4);
  if (pending_.size() > kMaxPending ||
      std::chrono::steady_clock::now() - written_at_ >= options_.flush_every)
    flush();
}

void EventWriter::flush() {
  written_at_ = std::chrono::steady_clock::now();
  const std::string data = std::exchange(pending_, {});
  for (std::size_t done = 0; done < data.size() && !failed_;) {
    const ssize_t written = ::write(fd_, data.data() + done, data.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      const IoError error(
          fmt::format("cannot write TensorBoard events to {}: {}", path_, std::strerror(errno)));
      failed_ = true;
      // If this fails, too, readers ignore the incomplete record at the end of the file.
      static_cast<void>(::ftruncate(fd_, size_) != 0);
      if (!options_.on_error) throw error;
      options_.on_error(error);
    }
  }
  if (!failed_) size_ += static_cast<std::int64_t>(data.size());
}

void EventWriter::scalars(std::int64_t step,
                          const std::vector<std::pair<std::string, double>>& values) {
  ProtoMessage summary;
  for (const auto& [tag, value] : values) {
    summary.message(1,
                    ProtoMessage().bytes(1, tag).real32(kSimpleValue, static_cast<float>(value)));
  }
  add(step, kSummary, summary.str());
}

void EventWriter::histogram(std::string_view tag, std::int64_t step, const Tensor& values) {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0, squares = 0;
  std::int64_t count = 0;
  const bool is_f32 = values.dtype() == DType::f32;
  const float* f32 = is_f32 ? values.data<float>() : nullptr;
  const auto at = [&](std::int64_t i) { return is_f32 ? double{f32[i]} : values.at(i); };
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const double v = at(i);
    if (!std::isfinite(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
    squares += v * v;
    ++count;
  }
  ProtoMessage message;
  if (count > 0) {
    const int buckets = low < high ? kBuckets : 1;
    std::vector<double> limits(static_cast<std::size_t>(buckets), high), counts(limits.size(), 0);
    // Both terms are divided first, because the range of f64 values may overflow.
    const double width = high / buckets - low / buckets;
    for (int b = 0; b + 1 < buckets; ++b) {
      const double part = (b + 1.0) / buckets;
      limits[static_cast<std::size_t>(b)] = low * (1 - part) + high * part;
    }
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const double v = at(i);
      if (!std::isfinite(v)) continue;
      const double bucket = buckets == 1 ? 0 : std::floor(v / width - low / width);
      ++counts[static_cast<std::size_t>(std::clamp(bucket, 0.0, buckets - 1.0))];
    }
    message.real(1, low)
        .real(2, high)
        .real(3, static_cast<double>(count))
        .real(4, sum)
        .real(5, squares);
    message.reals(6, limits).reals(7, counts);
  }
  add(step, kSummary, summary_value(tag, kHistogram, message).str());
}

void EventWriter::text(std::string_view tag, std::int64_t step, std::string_view markdown) {
  // A scalar string tensor: an empty shape.
  ProtoMessage tensor;
  tensor.integer(1, kString).bytes(2, "").bytes(8, markdown);
  add(step, kSummary, plugin_summary(tag, "text", "", tensor).str());
}

void EventWriter::image(std::string_view tag, std::int64_t step, const Tensor& image) {
  const std::string png = encode_png(image);
  ProtoMessage message;
  message.integer(1, image.sizes()[1])
      .integer(2, image.sizes()[2])
      .integer(3, image.sizes()[0])
      .bytes(4, png);
  add(step, kSummary, summary_value(tag, kImage, message).str());
}

void EventWriter::add_hparams(std::string_view tag, int field, std::string_view content) {
  // The plugin expects an empty f32 tensor [0].
  ProtoMessage none;
  none.integer(1, kFloat).message(2, ProtoMessage().message(2, ProtoMessage().integer(1, 0)));
  const std::string data = ProtoMessage().bytes(field, content).str();
  add(0, kSummary, plugin_summary(fmt::format("_hparams_/{}", tag), "hparams", data, none).str());
}

void EventWriter::hyper_parameters(const HyperParameters& values) {
  ProtoMessage start;
  for (const auto& [name, value] : values)
    start.message(1, ProtoMessage().bytes(1, name).message(2, json_value(value)));
  start.real(5, seconds_since_epoch());
  add_hparams("session_start_info", kSessionStart, start.str());
}

void EventWriter::experiment(const HyperParameters& examples,
                             const std::vector<std::string>& metric_tags) {
  ProtoMessage experiment;
  experiment.real(3, seconds_since_epoch());
  for (const auto& [name, value] : examples)
    experiment.message(4, ProtoMessage().bytes(1, name).integer(4, data_type(value)));
  for (const std::string& tag : metric_tags)
    experiment.message(5, ProtoMessage().message(1, ProtoMessage().bytes(2, tag)));
  add_hparams("experiment", kExperiment, experiment.str());
}

void EventWriter::end_run(bool success) {
  add_hparams("session_end_info", kSessionEnd,
              ProtoMessage().integer(1, success ? 1 : 2).real(2, seconds_since_epoch()).str());
}

}  // namespace weft
