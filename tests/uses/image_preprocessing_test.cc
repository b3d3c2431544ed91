// Image preprocessing as specified by preprocessor_config.json: pixels, class defaults, errors, and
// all commands that read pictures.
#include <boost/test/unit_test.hpp>

#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/inputs/preprocessor.h"
#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/pretrained.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/pillow_fixtures.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(image_preprocessing)
namespace {

const ImageSize kSize{3, 12, 12};

/// Reads preprocessor_config.json files.
class Preprocessors {
 public:
  ImageInfo read(const json& config, const std::string& type = "vit",
                 const ImageSize& size = kSize) const {
    return read_preprocessor(config.dump(), "folder/preprocessor_config.json", type, size);
  }
  template <class Error>
  void rejects(const json& config, const std::string& message) const {
    BOOST_TEST_CONTEXT(config.dump())
    check_error_message<Error>([&] { read(config); }, message);
  }
};

/// Returns `config` with a size that fits the model.
json sized(json config) {
  config["size"] = {{"height", 12}, {"width", 12}};
  return config;
}

BOOST_AUTO_TEST_CASE(preprocessed_pictures_have_the_pixels_of_pillow) {
  const Preprocessors files;
  for (const auto& entry : testing::pillow_fixture(WEFT_FIXTURES, "preprocessed")) {
    BOOST_TEST_CONTEXT(entry.dump()) {
      const ImageInfo info = files.read(entry.at("config"));
      const auto from = entry.at("from").get<Sizes>();
      const Tensor found = preprocess_image(testing::pillow_noise(from[0], from[1], 3), kSize,
                                            info.geometry, "p.png");
      BOOST_TEST(testing::pixel_digits(found) == entry.at("pixels").get<std::string>());
      // The exported settings specify the same preprocessing.
      const ImageInfo again = files.read(json::parse(preprocessor_json(info, kSize)));
      BOOST_TEST((again.geometry == info.geometry));
      BOOST_TEST(again.normalisation.mean == info.normalisation.mean);
      BOOST_TEST(again.normalisation.deviation == info.normalisation.deviation);
      // Model files contain the geometry.
      BOOST_TEST((ImageInfo::from_json(info.to_json()).geometry == info.geometry));
    }
  }
}

BOOST_AUTO_TEST_CASE(missing_preprocessing_keys_have_the_defaults_of_the_class) {
  const Preprocessors files;
  const ImageSize size{3, 224, 224};
  const auto geometry = [&](const std::string& name, const std::string& type = "vit") {
    const json config = name.empty() ? json::object() : json{{"image_processor_type", name}};
    return *files.read(config, type, size).geometry;
  };
  const ImageGeometry vit{.height = 224, .width = 224};
  ImageGeometry deit{.height = 256, .width = 256, .filter = Interpolation::bicubic};
  deit.crop_height = deit.crop_width = 224;
  ImageGeometry clip{.shortest_edge = 224, .filter = Interpolation::bicubic};
  clip.crop_height = clip.crop_width = 224;
  BOOST_TEST((geometry("") == vit));
  BOOST_TEST((geometry("", "deit") == deit));
  // BEiT has the sizes of DeiT, DINOv2 those of CLIP; DINOv3 differs from ViT in its normalisation.
  for (const char* type : {"beit", "data2vec-vision"}) BOOST_TEST((geometry("", type) == deit));
  for (const char* type : {"dinov2", "dinov2_with_registers"})
    BOOST_TEST((geometry("", type) == clip));
  for (const char* type : {"dinov3_vit", "swin", "vit_mae", "vit_msn"})
    BOOST_TEST((geometry("", type) == vit));
  BOOST_TEST((geometry("BeitFeatureExtractor") == deit));
  BOOST_TEST((geometry("DINOv3ViTImageProcessorFast") == vit));
  const auto mean = [&](const std::string& type) {
    return files.read(json::object(), type, {3, 224, 224}).normalisation.mean[0];
  };
  BOOST_TEST(mean("dinov3_vit") == 0.485);
  BOOST_TEST(mean("beit") == 0.5);
  BOOST_TEST((geometry("ViTImageProcessor", "deit") == vit));
  BOOST_TEST((geometry("ViTImageProcessorFast") == vit));
  BOOST_TEST((geometry("DeiTImageProcessorPil") == deit));
  BOOST_TEST((geometry("CLIPImageProcessor") == clip));
  BOOST_TEST((geometry("BitImageProcessorFast") == clip));
  // ConvNext changes the aspect ratio from 384 pixels on.
  BOOST_TEST(
      (*files.read({{"feature_extractor_type", "ConvNextFeatureExtractor"}}, "vit", {3, 384, 384})
            .geometry ==
       ImageGeometry{.height = 384, .width = 384, .filter = Interpolation::bicubic}));
  const ImageNormalisation pixels =
      files.read({{"image_processor_type", "CLIPImageProcessor"}}, "vit", size).normalisation;
  BOOST_TEST(pixels.mean.at(0) == 0.48145466);
  BOOST_TEST(pixels.deviation.at(2) == 0.27577711);
  // Without sizes in the file, pictures are resized to the size of the model.
  BOOST_TEST((*files.read(json::object(), "deit").geometry ==
              ImageGeometry{.height = 12, .width = 12, .filter = Interpolation::bicubic}));
}

BOOST_AUTO_TEST_CASE(numbers_of_channels_beyond_the_limits_are_rejected) {
  const Preprocessors files;
  for (const std::int64_t channels : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 60}) {
    BOOST_CHECK_EXCEPTION(files.read(json::object(), "vit", {channels, 4, 4}), ArgumentError,
                          testing::says("num_channels must be at"));
  }
}

BOOST_AUTO_TEST_CASE(preprocessing_settings_without_effect_are_accepted) {
  const Preprocessors files;
  const ImageGeometry plain{.height = 12, .width = 12};
  for (const json& config : {json{{"processor_class", "X"},
                                  {"do_convert_rgb", true},
                                  {"data_format", "channels_first"},
                                  {"input_data_format", nullptr},
                                  {"device", nullptr},
                                  {"return_tensors", nullptr},
                                  {"disable_grouping", nullptr},
                                  {"default_to_square", true}},
                             json{{"do_center_crop", false}, {"crop_size", 7}},
                             json{{"do_center_crop", nullptr},
                                  {"crop_size", nullptr},
                                  {"crop_pct", nullptr},
                                  {"size_divisor", nullptr},
                                  {"do_pad", nullptr},
                                  {"pad_size", nullptr}},
                             json{{"do_pad", true}, {"pad_size", {{"height", 12}, {"width", 12}}}},
                             json{{"do_pad", true}}, json{{"do_pad", false}, {"pad_size", 99}},
                             json{{"do_normalize", false}, {"image_mean", {1, 2}}},
                             json{{"do_flip_channel_order", false}, {"do_reduce_labels", true}},
                             json{{"resample", "bilinear"}}}) {
    BOOST_TEST_CONTEXT(config.dump())
    BOOST_TEST((*files.read(sized(config)).geometry == plain));
  }
  BOOST_TEST((*files.read({{"do_resize", false}, {"size", 99}, {"resample", 9}}).geometry ==
              ImageGeometry{}));
}

BOOST_AUTO_TEST_CASE(unsupported_preprocessing_settings_are_rejected_by_name) {
  const Preprocessors files;
  files.rejects<ArgumentError>({{"size", 14}},
                               "results in images of 14 x 14 pixels (size), but the model requires "
                               "12 x 12 (image_size in config.json)");
  files.rejects<ArgumentError>(
      {{"size", 12}, {"do_center_crop", true}, {"crop_size", {{"height", 12}, {"width", 10}}}},
      "results in images of 12 x 10 pixels (crop_size)");
  files.rejects<ArgumentError>({{"image_processor_type", "GLPNImageProcessor"}},
                               "the image processor GLPNImageProcessor is not supported; "
                               "supported: ViTImageProcessor, DeiTImageProcessor");
  files.rejects<ArgumentError>({{"size", {{"longest_edge", 12}}}},
                               "'size' must have the keys height and width, or shortest_edge");
  files.rejects<ArgumentError>({{"size", {{"height", 12}}}}, "'size' must have the keys");
  files.rejects<ArgumentError>({{"size", {{"max_height", 12}, {"max_width", 12}}}},
                               "'max_height' in 'size' is not supported");
  files.rejects<FormatError>({{"size", 0}}, "'size' must be an integer from 1 to 65535, not 0");
  files.rejects<FormatError>({{"size", 1e9}}, "'size' must be an integer from 1 to 65535");
  files.rejects<FormatError>({{"size", {1, 2, 3}}}, "'size' must be a number, [height, width]");
  files.rejects<FormatError>({{"size", "12"}}, "'size' must be a number");
  files.rejects<FormatError>(sized({{"resample", 6}}), "'resample' must be 0 (nearest), 1");
  files.rejects<FormatError>(sized({{"resample", "cubic"}}), "'resample' must be 0 (nearest)");
  files.rejects<FormatError>(sized({{"do_resize", 1}}), "'do_resize' must be true or false");
  files.rejects<FormatError>(sized({{"do_center_crop", true}}), "there is no 'crop_size'");
  files.rejects<FormatError>(sized({{"do_center_crop", true}, {"crop_size", {{"height", 2}}}}),
                             "'crop_size' must be a number, [height, width] or an object");
  files.rejects<ArgumentError>(sized({{"crop_pct", 0.9}}), "crop_pct is 0.9");
  files.rejects<ArgumentError>(sized({{"size_divisor", 32}}), "size_divisor is 32");
  files.rejects<ArgumentError>(sized({{"do_pad", true}, {"pad_size", 16}}),
                               "do_pad is true and pad_size is 16");
  files.rejects<ArgumentError>(sized({{"data_format", "channels_last"}}), "data_format");
  files.rejects<ArgumentError>(sized({{"auto_map", {{"AutoImageProcessor", "x.Y"}}}}), "auto_map");
  files.rejects<ArgumentError>(sized({{"do_thumbnail", true}}), "do_thumbnail");
  files.rejects<FormatError>({{"image_processor_type", "ConvNextImageProcessor"}, {"crop_pct", 0}},
                             "'crop_pct' must be above 0");
  files.rejects<ArgumentError>({{"image_processor_type", "ConvNextImageProcessor"},
                                {"size", {{"height", 12}, {"width", 12}}}},
                               "ConvNextImageProcessor is supported with 'size'");
  check_error_message<ArgumentError>(
      [&] {
        files.read({{"size", 12}, {"do_convert_rgb", true}}, "vit", {1, 12, 12});
      },
      "do_convert_rgb is true, but the model has 1 channel");
}

json vit_of_12(int channels = 3) {
  return {{"model_type", "vit"},      {"architectures", {"ViTForImageClassification"}},
          {"hidden_size", 16},        {"num_hidden_layers", 2},
          {"num_attention_heads", 2}, {"intermediate_size", 32},
          {"image_size", 12},         {"patch_size", 4},
          {"num_channels", channels}, {"encoder_stride", 4},
          {"initializer_range", 0.4}, {"id2label", {{"0", "a"}, {"1", "b"}, {"2", "c"}}}};
}

/// Returns the probabilities that a model assigns to a picture file.
std::vector<double> scores(const std::string& path, const std::string& picture) {
  const auto [task, model, notes] = load_any_model(path);
  Session session(*model->graph, model->store, {.threads = 1});
  const auto classes =
      dynamic_cast<const Classifier&>(*model).most_likely_classes(session, {picture}, {.most = 3});
  std::vector<double> found(3);
  for (const ClassScore& score : classes.at(0))
    found.at(static_cast<std::size_t>(score.name.at(0) - 'a')) = score.probability;
  return found;
}

BOOST_AUTO_TEST_CASE(classifiers_keep_the_geometry_of_their_folder_in_files_and_exports) {
  const TinyFolder folder(vit_of_12(), false);
  const std::string picture = std::string(WEFT_FIXTURES) + "/images/exif6.jpg";  // 24 x 16 pixels
  std::vector<std::vector<double>> seen;
  for (const json& config :
       {json{{"size", {{"height", 12}, {"width", 12}}}},
        json{{"size", {{"shortest_edge", 12}}}, {"do_center_crop", true}, {"crop_size", 12}},
        json{{"size", 12}, {"resample", 0}}, json{{"size", 12}, {"do_flip_channel_order", true}},
        json{{"do_resize", false}, {"do_center_crop", true}, {"crop_size", 12}}}) {
    BOOST_TEST_CONTEXT(config.dump()) {
      folder.write("preprocessor_config.json", config.dump());
      const std::vector<double> expected = scores(folder.path(), picture);
      for (const auto& other : seen) BOOST_TEST(other != expected);
      seen.push_back(expected);
      const std::string file = folder.beside("m.weft"), again = folder.beside("again");
      save_model(file, *load_any_model(folder.path()).model);
      BOOST_TEST(scores(file, picture) == expected);
      std::filesystem::remove_all(again);
      save_folder(again, *load_any_model(file).model);
      BOOST_TEST(read_whole_file(again + "/preprocessor_config.json") == config.dump());
      BOOST_TEST(scores(again, picture) == expected);
    }
  }
  // The size depends on the picture.
  folder.write("preprocessor_config.json", R"({"size": {"shortest_edge": 12}})");
  check_error_message<DataError>([&] { scores(folder.path(), picture); },
                                 "exif6.jpg: preprocessing converts 24 x 16 pixels to 18 x 12, but "
                                 "the model requires 12 x 12");
}

BOOST_AUTO_TEST_CASE(pictures_are_classified_upright) {
  const TinyFolder folder(vit_of_12(), false);
  folder.write("preprocessor_config.json", R"({"size": 12})");
  const std::string pictures = std::string(WEFT_FIXTURES) + "/images/";
  const std::vector<double> turned = scores(folder.path(), pictures + "exif6.jpg");
  const std::vector<double> upright = scores(folder.path(), pictures + "exif6_applied.jpg");
  // The two files were compressed separately.
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(std::abs(turned[i] - upright[i]) < 0.02);
  BOOST_TEST((read_image(pictures + "exif6.jpg", 3).sizes() == Sizes{3, 24, 16}));
}

/// Writes a folder with two classes of wide pictures and returns its path.
std::string wide_pictures(const Shell& weft) {
  const std::string picture = read_whole_file(std::string(WEFT_FIXTURES) + "/images/exif6.jpg");
  for (int i = 0; i < 12; ++i) {
    weft.write("wide/a/" + std::to_string(i) + ".jpg", picture);
    weft.write("wide/b/" + std::to_string(i) + ".png", testing::colour_png());
  }
  return weft.path("wide");
}

BOOST_AUTO_TEST_CASE(training_uses_and_exports_the_geometry_of_the_trained_model) {
  const Shell weft;
  const std::string data = wide_pictures(weft), file = weft.path("tuned.weft");
  const TinyFolder folder(vit_of_12(), false);
  const auto train = [&](const std::string& options) {
    return weft("train vit --task " + options + " --data " + data +
                " --steps 2 --warmup 1 --batch 4 --threads 2 --out " + file);
  };
  folder.write("preprocessor_config.json",
               R"({"image_processor_type": "DeiTImageProcessor", "size": 14, "crop_size": 12})");
  ImageGeometry expected{.height = 14, .width = 14, .filter = Interpolation::bicubic};
  expected.crop_height = expected.crop_width = 12;
  for (const char* task : {"classify", "masked-image"}) {
    const Outcome trained = train(std::string(task) + " --from " + folder.path());
    BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
    const Pretrained tuned = load_pretrained(file);
    BOOST_TEST((tuned.geometry == expected));
    std::filesystem::remove_all(weft.path("exported"));
    save_folder(weft.path("exported"), *load_any_model(file).model);
    BOOST_TEST((load_pretrained(weft.path("exported")).geometry == expected));
  }
  // Another image size scales the geometry.
  const Outcome larger =
      train("classify --from " + folder.path() + " --image-height 24 --image-width 24");
  BOOST_TEST_REQUIRE(larger.code == 0, larger.err);
  BOOST_TEST(load_pretrained(file).geometry->height == 28);
  BOOST_TEST(load_pretrained(file).geometry->crop_height == 24);
  // Pictures that cannot be converted are named.
  folder.write("preprocessor_config.json", R"({"size": {"shortest_edge": 12}})");
  check_error(train("classify --from " + folder.path()), 1,
              "0.jpg: preprocessing converts 24 x 16 pixels to 18 x 12");
}

BOOST_AUTO_TEST_CASE(models_trained_by_weft_export_how_they_crop) {
  const Shell weft;
  const std::string data = wide_pictures(weft), file = weft.path("m.weft");
  for (const auto& [height, width] : {std::pair{12, 12}, {12, 8}}) {
    const Outcome trained =
        weft("train vit --task classify --data " + data + " --channels 3 --image-height " +
             std::to_string(height) + " --image-width " + std::to_string(width) +
             " --patch-height 4 --patch-width 4 --layers 1 --heads 2 --width 16 --inner 32 "
             "--pooling class_token --positions learned --steps 2 --warmup 1 --batch 4 --shift 0 "
             "--rotation 0 --zoom 0 --threads 2 --out " +
             file);
    BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
    std::filesystem::remove_all(weft.path("exported"));
    save_folder(weft.path("exported"), *load_any_model(file).model);
    const json written =
        json::parse(read_whole_file(weft.path("exported/preprocessor_config.json")));
    if (height == width) {
      BOOST_TEST(written.at("size") == json({{"shortest_edge", 12}}));
      BOOST_TEST(written.at("do_center_crop") == true);
      BOOST_TEST(written.at("crop_size") == json({{"height", 12}, {"width", 12}}));
    } else {
      BOOST_TEST(written.at("size") == json({{"height", 12}, {"width", 8}}));
      BOOST_TEST(written.at("do_center_crop") == false);
    }
    BOOST_TEST(written.at("resample") == 2);
    BOOST_TEST((load_pretrained(weft.path("exported")).geometry == load_pretrained(file).geometry));
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
