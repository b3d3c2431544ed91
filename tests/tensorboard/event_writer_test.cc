// Event files are read back by an independent reader (read_events.py).
#include "weft/models/tensorboard/event_writer.h"

#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>

#include "event_reader.h"
#include "weft/models/data/images/encode_png.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(event_writer)
namespace {

using nlohmann::json;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Writes events and returns them as read back, without the first event.
template <class Write>
std::vector<json> written(Write write) {
  const testing::TemporaryFolder folder("events");
  std::string path;
  {
    EventWriter events(folder.path("run"));
    write(events);
    path = events.path();
  }
  std::vector<json> found = events_in(path);
  BOOST_TEST(found.front()["file_version"] == "brain.Event:2");
  found.erase(found.begin());
  return found;
}

BOOST_AUTO_TEST_CASE(numbers_keep_their_tags_steps_and_times) {
  const double before =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::vector<json> events = written([](EventWriter& e) {
    e.scalar("loss/train", 1, 0.5);
    e.scalars(std::int64_t{1} << 40, {{"a", -1e30}, {"b", kNan}, {"\u03bb", kInfinity}});
    e.scalar("negative step", -3, 0);
  });
  BOOST_TEST_REQUIRE(events.size() == 3U);
  BOOST_TEST(events[0]["step"] == 1);
  BOOST_TEST(events[0]["summary"] ==
             json::parse(R"({"value": [{"tag": "loss/train", "simple_value": 0.5}]})"));
  BOOST_TEST(events[1]["step"] == std::int64_t{1} << 40);
  const json values = events[1]["summary"]["value"];
  BOOST_TEST(values[0]["simple_value"].get<float>() == -1e30F);
  BOOST_TEST(values[1]["simple_value"] == "nan");
  BOOST_TEST(values[2]["simple_value"] == "inf");
  BOOST_TEST(values[2]["tag"] == "\u03bb");
  BOOST_TEST(events[2]["step"] == -3);
  for (const json& event : events) {
    BOOST_TEST(event["wall_time"].get<double>() >= before);
    BOOST_TEST(event["wall_time"].get<double>() < before + 1000);
  }
}

json histogram_of(const Tensor& values) {
  const std::vector<json> events = written([&](EventWriter& e) { e.histogram("h", 2, values); });
  BOOST_TEST_REQUIRE(events.size() == 1U);
  BOOST_TEST(events[0]["step"] == 2);
  return events[0]["summary"]["value"][0]["histo"];
}

BOOST_AUTO_TEST_CASE(histograms_count_all_finite_values) {
  // 0, 1, ..., 63, and the values at the ends once more.
  std::vector<float> values = {0, 63, kNan, kInfinity, -kInfinity};
  for (int i = 0; i < 64; ++i) values.push_back(static_cast<float>(i));
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    BOOST_TEST_CONTEXT(dtype_name(dtype)) {
      const json h = histogram_of(Tensor::of<float>({3, 23}, values).to(dtype));
      BOOST_TEST(h["min"] == 0.0);
      BOOST_TEST(h["max"] == 63.0);
      BOOST_TEST(h["num"] == 66.0);
      BOOST_TEST(h["sum"] == 63.0 * 64 / 2 + 63);
      BOOST_TEST(h["sum_squares"] == 63.0 * 64 * 127 / 6 + 63 * 63);
      const auto counts = h["bucket"].get<std::vector<double>>();
      std::vector<double> expected(64, 1);
      expected.front() = expected.back() = 2;
      BOOST_TEST(counts == expected, boost::test_tools::per_element());
      const auto limits = h["bucket_limit"].get<std::vector<double>>();
      BOOST_TEST(limits.size() == counts.size());
      BOOST_TEST(std::abs(limits[0] - 63.0 / 64) < 1e-12);
      BOOST_TEST(limits.back() == 63.0);
    }
  }
}

BOOST_AUTO_TEST_CASE(histograms_of_constants_have_one_bucket_and_of_nothing_none) {
  const json same = histogram_of(Tensor::of<float>({2}, {-2, -2}));
  BOOST_TEST(same["bucket"] == (json{2.0}));
  BOOST_TEST(same["bucket_limit"] == (json{-2.0}));
  BOOST_TEST(!histogram_of(Tensor::of<float>({1}, {kNan})).contains("bucket"));
  BOOST_TEST(!histogram_of(Tensor::of<float>({0}, std::initializer_list<float>{})).contains("num"));
  // The range overflows f64.
  const json wide = histogram_of(Tensor::of<double>({3}, {-1.5e308, 0.1, 1.5e308}));
  const auto counts = wide["bucket"].get<std::vector<double>>();
  BOOST_TEST(counts[0] == 1);
  BOOST_TEST(counts[32] == 1);
  BOOST_TEST(counts[63] == 1);
}

BOOST_AUTO_TEST_CASE(texts_are_string_tensors_of_the_text_plugin) {
  const std::string text = "a *b*\n\u6f22\u5b57";
  const std::vector<json> events = written([&](EventWriter& e) { e.text("sample", 7, text); });
  const json value = events.at(0)["summary"]["value"][0];
  BOOST_TEST(value["tag"] == "sample");
  BOOST_TEST(value["tensor"] ==
             (json{{"dtype", 7}, {"tensor_shape", json::object()}, {"string_val", {text}}}));
  BOOST_TEST(value["metadata"]["plugin_data"]["plugin_name"] == "text");
}

BOOST_AUTO_TEST_CASE(images_are_stored_as_png) {
  const Tensor rgb = Tensor::of<float>({3, 1, 2}, {0, 1, 0.5, 2, kNan, -1});
  const Tensor grey = Tensor::of<float>({1, 2, 2}, {0, 0.2F, 0.4F, 1});
  const std::vector<json> events = written([&](EventWriter& e) {
    e.image("rgb", 1, rgb);
    e.image("grey", 1, grey);
    BOOST_CHECK_THROW(e.image("two", 1, Tensor::of<float>({2, 1, 1}, {0, 1})), ShapeError);
    BOOST_CHECK_THROW(e.image("flat", 1, Tensor::of<float>({2}, {0, 1})), ShapeError);
    BOOST_CHECK_THROW(e.image("f64", 1, Tensor::of<double>({1, 1, 1}, {0})), DTypeError);
  });
  BOOST_TEST_REQUIRE(events.size() == 2U);
  BOOST_TEST(events[0]["summary"]["value"][0]["image"] ==
             json::parse(R"({"height": 1, "width": 2, "colorspace": 3, "encoded_image_string":
                             {"width": 2, "height": 1, "channels": 3,
                              "pixels": [0, 128, 0, 255, 255, 0]}})"));
  BOOST_TEST(events[1]["summary"]["value"][0]["image"]["encoded_image_string"]["pixels"] ==
             (std::vector<int>{0, 51, 102, 255}));
  // The decoder of image files restores the 8-bit values.
  const Tensor again = decode_image(encode_png(grey), 1, "grey");
  BOOST_TEST(again.sizes() == grey.sizes());
  BOOST_TEST(again.span<float>() == grey.span<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(hyper_parameters_are_events_of_their_plugin) {
  const std::vector<json> events = written([](EventWriter& e) {
    const EventWriter::HyperParameters values{
        {"lr", 0.001}, {"tied", true}, {"name", std::string("adamw")}};
    e.experiment(values, {"loss/validation"});
    e.hyper_parameters(values);
    e.end_run(true);
    e.end_run(false);
  });
  BOOST_TEST_REQUIRE(events.size() == 4U);
  const auto content = [&](std::size_t i, const std::string& tag, const char* field) {
    const json value = events[i]["summary"]["value"][0];
    BOOST_TEST(value["tag"] == "_hparams_/" + tag);
    // The plugin requires an empty f32 tensor.
    BOOST_TEST(value["tensor"] ==
               json::parse(R"({"dtype": 1, "tensor_shape": {"dim": [{"size": 0}]}})"));
    BOOST_TEST(value["metadata"]["plugin_data"]["plugin_name"] == "hparams");
    json found = value["metadata"]["plugin_data"]["content"][field];
    for (const char* time : {"time_created_secs", "start_time_secs", "end_time_secs"}) {
      if (found.contains(time)) BOOST_TEST(found[time].get<double>() > 1.7e9);
      found.erase(time);
    }
    return found;
  };
  BOOST_TEST(content(0, "experiment", "experiment") == json::parse(R"({
    "hparam_infos": [{"name": "lr", "type": 3}, {"name": "name", "type": 1},
                     {"name": "tied", "type": 2}],
    "metric_infos": [{"name": {"tag": "loss/validation"}}]})"));
  BOOST_TEST(content(1, "session_start_info", "session_start_info") == json::parse(R"({
    "hparams": [{"key": "lr", "value": {"number_value": 0.001}},
                {"key": "name", "value": {"string_value": "adamw"}},
                {"key": "tied", "value": {"bool_value": 1}}]})"));
  BOOST_TEST(content(2, "session_end_info", "session_end_info") == (json{{"status", 1}}));
  BOOST_TEST(content(3, "session_end_info", "session_end_info") == (json{{"status", 2}}));
}

BOOST_AUTO_TEST_CASE(a_file_is_readable_after_every_flush) {
  const testing::TemporaryFolder folder("events");
  EventWriter events(folder.path("a/b"), {.flush_every = std::chrono::hours(1)});
  BOOST_TEST(events_in(events.path()).size() == 1U);
  events.scalar("x", 1, 1);
  BOOST_TEST(events_in(events.path()).size() == 1U);
  events.flush();
  BOOST_TEST(events_in(events.path()).size() == 2U);
  // Many events are written without flush().
  for (int i = 0; i < 40; ++i) events.text("long", i, std::string(100'000, 'x'));
  BOOST_TEST(events_in(events.path()).size() > 20U);
  EventWriter often(folder.path("a/b"), {.flush_every = std::chrono::milliseconds(0)});
  often.scalar("x", 1, 1);
  BOOST_TEST(events_in(often.path()).size() == 2U);
  BOOST_TEST(event_files(folder.path("a/b")).size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_hides_the_repeated_steps) {
  const testing::TemporaryFolder folder("events");
  const EventWriter events(folder.path("run"), {.purge_step = 41});
  const std::vector<json> found = events_in(events.path());
  BOOST_TEST_REQUIRE(found.size() == 2U);
  BOOST_TEST(found[0]["file_version"] == "brain.Event:2");
  BOOST_TEST(found[1]["step"] == 41);
  BOOST_TEST(found[1]["session_log"] == (json{{"status", 1}}));
}

BOOST_AUTO_TEST_CASE(the_reader_finds_damage) {
  const testing::TemporaryFolder folder("events");
  std::string path;
  {
    EventWriter events(folder.path("run"));
    events.scalar("x", 1, 1);
    path = events.path();
  }
  const std::string whole = read_whole_file(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 16);
    if (i % 7 == 0) BOOST_TEST(read_events(folder.write("damaged", damaged)).code == 1);
  }
  const std::string cut = folder.write("cut", whole.substr(0, whole.size() - 3));
  BOOST_TEST(read_events(cut).code == 1);
  const Outcome tail = read_events(cut, "--tail");
  BOOST_TEST(tail.code == 0);
  BOOST_TEST(std::count(tail.out.begin(), tail.out.end(), '\n') == 1);
}

BOOST_AUTO_TEST_CASE(folders_that_cannot_be_written_are_errors) {
  const testing::TemporaryFolder folder("events");
  const std::string file = folder.write("file", "x");
  BOOST_CHECK_EXCEPTION(EventWriter(file + "/run"), IoError, [&](const IoError& e) {
    return contains(e.what(), "cannot write TensorBoard events to " + file + "/run: ") &&
           contains(e.what(), "name a folder that can be created or written");
  });
}

/// Limits the size of files that this process writes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

BOOST_AUTO_TEST_CASE(a_full_disk_leaves_a_readable_file) {
  const testing::TemporaryFolder folder("events");
  std::vector<std::string> errors;
  EventWriter events(folder.path("run"),
                     {.on_error = [&](const IoError& e) { errors.emplace_back(e.what()); }});
  EventWriter throwing(folder.path("run"));
  events.scalar("x", 1, 1);
  events.flush();
  {
    const FileSizeLimit limit(500);
    for (EventWriter* writer : {&events, &throwing}) writer->text("t", 2, std::string(1000, 'x'));
    events.flush();
    BOOST_CHECK_THROW(throwing.flush(), IoError);
    events.scalar("y", 3, 1);
    events.flush();
  }
  BOOST_TEST_REQUIRE(errors.size() == 1U);
  BOOST_TEST(errors[0] ==
             "cannot write TensorBoard events to " + events.path() + ": File too large");
  BOOST_TEST(events.failed());
  events.scalar("z", 4, 1);
  events.flush();
  BOOST_TEST(events_in(events.path()).size() == 2U);  // the version and x
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
