#include "weft/graph/engine/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/graph/engine/trace_recorder.h"

namespace weft {
namespace {

constexpr std::size_t kMaxEvents = std::size_t{1} << 22;
// Thread ids: the steps of a Trainer have track 0; a Session has one track for its runs and one for
// each of its worker slots.
constexpr int kTracksPerSession = 10'000;

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// Writes the events of one process.
class EventList {
 public:
  EventList(int pid, double origin) : pid_(pid), origin_(origin) {}

  /// `arguments` are the members of a JSON object.
  void slice(int track, std::string_view name, std::string_view category, double begin, double end,
             std::string_view arguments) {
    // Both ends are rounded in the same way, so that slices that touch each other still do.
    const std::int64_t from = nanoseconds(begin), to = nanoseconds(end);
    add(
        fmt::format("\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},"
                    "\"cat\":{},\"args\":{{{}}}",
                    pid_, track, micro(from), micro(to - from), json_text(name),
                    json_text(category), arguments));
  }
  void counter(std::string_view name, double at, std::size_t value) {
    add(
        fmt::format("\"ph\":\"C\",\"pid\":{},\"tid\":0,\"ts\":{},\"name\":{},\"args\":{{\"bytes\":"
                    "{}}}",
                    pid_, micro(nanoseconds(at)), json_text(name), value));
  }
  void name_process(std::string_view name) {
    add(
        fmt::format("\"ph\":\"M\",\"pid\":{},\"tid\":0,\"name\":\"process_name\",\"args\":{{"
                    "\"name\":{}}}",
                    pid_, json_text(name)));
  }
  void name_track(int track, std::string_view name) {
    add(
        fmt::format("\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{"
                    "\"name\":{}}}",
                    pid_, track, json_text(name)));
    add(
        fmt::format("\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"name\":\"thread_sort_index\","
                    "\"args\":{{\"sort_index\":{1}}}",
                    pid_, track));
  }
  std::string take() { return std::move(text_); }

 private:
  std::int64_t nanoseconds(double at) const {
    return static_cast<std::int64_t>((at - origin_) * 1e9);
  }
  static std::string micro(std::int64_t ns) {
    return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
  }
  void add(const std::string& members) {
    text_ += fmt::format("{}\n{{{}}}", text_.empty() ? "" : ",", members);
  }

  int pid_;
  double origin_;
  std::string text_;
};

std::unique_ptr<TracedPlan> describe_plan(const Plan& plan) {
  auto traced = std::make_unique<TracedPlan>();
  traced->program = plan.program->name;
  for (const StepId s : plan.steps.ids()) {
    const PlanStep& step = plan.steps[s];
    traced->steps.push_back({plan.step_name(s),
                             step.node == nullptr ? "" : step.node->graph().where(*step.node),
                             step.flops, step.bytes});
  }
  traced->live.resize(plan.waves.size());
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.space != Space::arena) continue;
    for (WaveId w = buffer.begin; w <= buffer.end && w < plan.waves.end_id(); ++w)
      traced->live[w] += aligned_size(buffer.bytes + 2 * plan.guard);
  }
  return traced;
}

}  // namespace

struct Trace::State {
  struct Slice {
    std::string name;
    double begin, end;
  };
  Steps steps;
  std::mutex mutex;
  std::vector<std::unique_ptr<TraceRecorder>> recorders;
  std::vector<Slice> slices;
  std::int64_t step = 0;   // the number of the current step
  bool announced = false;  // steps are announced by begin_step()
  bool recording = false;  // the announced step is recorded
  bool truncated = false;
  double step_begin = 0;

  bool in_range() const { return step >= steps.first && step <= steps.last; }
};

Trace::Trace(Steps steps)
    : start_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
                 .count()),
      start_now_(now()),
      state_(std::make_unique<State>()) {
  state_->steps = steps;
}

Trace::~Trace() = default;

double Trace::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Trace::begin_step(std::int64_t step) {
  state_->announced = true;
  state_->step = step;
  state_->recording = state_->in_range();
  state_->step_begin = now();
}

void Trace::end_step() {
  slice(fmt::format("step {}", state_->step), state_->step_begin, now());
  state_->recording = false;
}

void Trace::slice(std::string name, double begin, double end) {
  if (state_->recording) state_->slices.push_back({std::move(name), begin, end});
}

bool Trace::empty() const {
  const auto& recorders = state_->recorders;
  return state_->slices.empty() && std::all_of(recorders.begin(), recorders.end(),
                                               [](const auto& r) { return r->spans_.empty(); });
}

bool Trace::truncated() const { return state_->truncated; }

TraceRecorder& Trace::add_recorder(int slots) {
  const std::lock_guard lock(state_->mutex);
  state_->recorders.push_back(std::make_unique<TraceRecorder>(*this, slots));
  return *state_->recorders.back();
}

TraceRecorder::TraceRecorder(Trace& trace, int slots)
    : trace_(trace), slots_(static_cast<std::size_t>(slots)) {}

bool TraceRecorder::begin_run() {
  Trace::State& state = *trace_.state_;
  const std::lock_guard lock(state.mutex);
  if (!state.announced) {
    ++state.step;
    state.recording = state.in_range();
  }
  return state.recording;
}

bool TraceRecorder::is_full() {
  std::size_t events = spans_.size();
  for (const Slot& slot : slots_) events += slot.chunks.size();
  if (events < kMaxEvents) return false;
  const std::lock_guard lock(trace_.state_->mutex);
  trace_.state_->truncated = true;
  return true;
}

const TracedPlan* TraceRecorder::describe(const std::shared_ptr<const Plan>& plan) {
  std::unique_ptr<TracedPlan>& traced = plans_[plan];
  if (traced == nullptr) traced = describe_plan(*plan);
  return traced.get();
}

void TraceRecorder::span(const Span& span) { spans_.push_back(span); }

std::string Trace::events(const Process& process) const {
  const double origin = process.origin == 0 ? start_ : process.origin;
  EventList list(process.rank, start_now_ + (origin - start_));
  list.name_process(fmt::format("rank {}", process.rank));
  if (!state_->slices.empty()) list.name_track(0, "steps");
  for (const State::Slice& slice : state_->slices)
    list.slice(0, slice.name, "step", slice.begin, slice.end, "");
  int first = 0;
  for (const auto& recorder : state_->recorders) {
    first += kTracksPerSession;
    if (recorder->spans_.empty()) continue;
    const std::string session = fmt::format("session {}", first / kTracksPerSession);
    list.name_track(first, session);
    for (const TraceRecorder::Span& span : recorder->spans_) {
      if (span.wave.defined()) {
        list.slice(first, fmt::format("wave {}", span.wave.number()), span.plan->program,
                   span.begin, span.end, "");
        if (!span.is_body)
          list.counter(session + ": bytes in use", span.begin, span.plan->live[span.wave]);
      } else {
        const bool is_run = span.name.empty();
        list.slice(first, is_run ? span.plan->program : std::string(span.name),
                   is_run ? "session run" : span.plan->program, span.begin, span.end, "");
        if (is_run) list.counter(session + ": bytes in use", span.end, 0);
      }
    }
    int track = first;
    for (const TraceRecorder::Slot& slot : recorder->slots_) {
      ++track;
      if (slot.chunks.empty()) continue;
      list.name_track(track, fmt::format("{}: worker {}", session, track - first - 1));
      for (const TraceRecorder::Chunks& c : slot.chunks) {
        const TracedPlan::Step& step = c.plan->steps[c.step];
        list.slice(
            track, step.name, c.plan->program, c.begin, c.end,
            fmt::format("\"chunks\":{},\"busy_us\":{:.3f},\"where\":{},\"step_flops\":"
                        "{:.0f},\"step_bytes\":{:.0f}",
                        c.count, c.busy * 1e6, json_text(step.where), step.flops, step.bytes));
      }
    }
  }
  return list.take();
}

std::string Trace::json(const std::vector<std::string>& events) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const char* separator = "";
  for (const std::string& process : events) {
    if (process.empty()) continue;
    text += separator + process;
    separator = ",";
  }
  return text + "\n]}\n";
}

}  // namespace weft
