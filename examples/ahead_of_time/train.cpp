// The program of train.c in C++: arrays that free themselves, and the images of a step shared by two
// threads, each with its own workspace.
#include "libdigits.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int64_t BATCH = 64, PIXELS = 64, DIGITS = 10;
constexpr int INPUTS = 2, WORKERS = 2;
constexpr float RATE = 0.1f, MOMENTUM = 0.9f;
constexpr double WANTED = 0.97;

struct Free {
    void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Memory aligned(std::size_t bytes) {
    Memory made{std::aligned_alloc(GRADIR_WORKSPACE_ALIGNMENT, (bytes + 127) / 64 * 64)};
    if (!made)
        throw std::bad_alloc();
    return made;
}

// Arrays as a function describes them.
class Arrays {
  public:
    Arrays(const gradir_array_info *infos, int32_t count) {
        for (int32_t k = 0; k < count; k++) {
            memory_.push_back(aligned(static_cast<std::size_t>(infos[k].bytes)));
            std::memset(memory_.back().get(), 0, static_cast<std::size_t>(infos[k].bytes));
            arrays_.push_back({memory_.back().get(), infos[k].shape, infos[k].size, infos[k].rank,
                               infos[k].dtype, infos[k].request, 0});
        }
    }
    gradir_array *data() { return arrays_.data(); }
    gradir_array &operator[](int k) { return arrays_[static_cast<std::size_t>(k)]; }
    float *floats(int k) { return static_cast<float *>((*this)[k].data); }

  private:
    std::vector<Memory> memory_;
    std::vector<gradir_array> arrays_;
};

// A function with all that a call takes; one for each thread.
class Call {
  public:
    using Function = int32_t(const gradir_array *, gradir_array *, void *, gradir_status *);
    Call(Function *function, const gradir_info *info)
        : in(info->in, info->n_in), out(info->out, info->n_out), function_(function),
          workspace_(aligned(info->workspace_bytes)) {
        status_.workspace_bytes = info->workspace_bytes;
    }
    void operator()() {
        if (function_(in.data(), out.data(), workspace_.get(), &status_) != GRADIR_OK)
            throw std::runtime_error(status_.message);
    }
    Arrays in, out;

  private:
    Function *function_;
    Memory workspace_;
    gradir_status status_ = GRADIR_STATUS_INIT;
};

struct Part {
    int64_t count = 0;
    std::vector<float> images;
    std::vector<int64_t> labels;
};

Part read_part(std::ifstream &file) {
    Part part;
    auto read = [&file](void *to, std::size_t bytes) {
        if (!file.read(static_cast<char *>(to), static_cast<std::streamsize>(bytes)))
            throw std::runtime_error("the data ends too early");
    };
    read(&part.count, sizeof part.count);
    part.images.resize(static_cast<std::size_t>(part.count * PIXELS));
    part.labels.resize(static_cast<std::size_t>(part.count));
    read(part.images.data(), part.images.size() * sizeof(float));
    read(part.labels.data(), part.labels.size() * sizeof(int64_t));
    return part;
}

float random_number(uint64_t &state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<int32_t>(state >> 32)) / 2147483648.0f;
}

void take_batch(Call &call, const Part &part, int64_t first) {
    std::memcpy(call.in[0].data, &part.images[static_cast<std::size_t>(first * PIXELS)],
                BATCH * PIXELS * sizeof(float));
    std::memcpy(call.in[1].data, &part.labels[static_cast<std::size_t>(first)],
                BATCH * sizeof(int64_t));
}

int64_t right_answers(Call &call, const Part &part, int64_t first) {
    int64_t count = std::min(BATCH, part.count - first), right = 0;
    std::memset(call.in[0].data, 0, BATCH * PIXELS * sizeof(float));
    std::memcpy(call.in[0].data, &part.images[static_cast<std::size_t>(first * PIXELS)],
                static_cast<std::size_t>(count * PIXELS) * sizeof(float));
    call();
    for (int64_t row = 0; row < count; row++) {
        const float *logits = call.out.floats(0) + row * DIGITS;
        int64_t best = 0;
        for (int64_t k = 1; k < DIGITS; k++)
            best = logits[k] > logits[best] ? k : best;
        right += best == part.labels[static_cast<std::size_t>(first + row)];
    }
    return right;
}

int run(const std::string &path, int epochs) {
    std::ifstream file(path, std::ios::binary);
    Part train = read_part(file), held_out = read_part(file);
    const gradir_info *info = digits_grad_info();
    std::vector<Call> calls;
    for (int w = 0; w < WORKERS; w++)
        calls.emplace_back(digits_grad, info);
    const int parameters = info->n_in - INPUTS;
    std::vector<std::vector<float>> weights, momenta;
    uint64_t state = 1;
    for (int k = 0; k < parameters; k++) {
        const gradir_array_info &parameter = info->in[INPUTS + k];
        weights.emplace_back(static_cast<std::size_t>(parameter.size));
        momenta.emplace_back(static_cast<std::size_t>(parameter.size));
        const float size = std::sqrt(6.0f / static_cast<float>(parameter.shape[0]));
        if (parameter.rank == 2)
            for (float &weight : weights.back())
                weight = size * random_number(state);
    }
    for (int epoch = 0; epoch < epochs; epoch++) {
        const float rate = RATE * (1.0f - static_cast<float>(epoch) / static_cast<float>(epochs));
        double loss = 0;
        int64_t steps = train.count / (WORKERS * BATCH);
        for (int64_t step = 0; step < steps; step++) {
            std::vector<std::thread> workers;
            std::vector<std::exception_ptr> errors(WORKERS);
            for (int w = 0; w < WORKERS; w++)
                workers.emplace_back([&, w] {
                    try {
                        Call &call = calls[static_cast<std::size_t>(w)];
                        take_batch(call, train, (step * WORKERS + w) * BATCH);
                        for (int k = 0; k < parameters; k++)
                            std::memcpy(call.in[INPUTS + k].data,
                                        weights[static_cast<std::size_t>(k)].data(),
                                        weights[static_cast<std::size_t>(k)].size() *
                                            sizeof(float));
                        call();
                    } catch (...) {
                        errors[static_cast<std::size_t>(w)] = std::current_exception();
                    }
                });
            for (std::thread &worker : workers)
                worker.join();
            for (const std::exception_ptr &error : errors)
                if (error)
                    std::rethrow_exception(error);
            for (Call &call : calls)
                loss += call.out.floats(0)[0] / WORKERS;
            for (int k = 0; k < parameters; k++) {
                std::vector<float> &weight = weights[static_cast<std::size_t>(k)];
                std::vector<float> &momentum = momenta[static_cast<std::size_t>(k)];
                for (std::size_t n = 0; n < weight.size(); n++) {
                    float gradient = 0;
                    for (Call &call : calls)
                        gradient += call.out.floats(1 + k)[n] / WORKERS;
                    momentum[n] = MOMENTUM * momentum[n] + gradient;
                    weight[n] -= rate * momentum[n];
                }
            }
        }
        std::printf("epoch %2d  loss %.4f\n", epoch + 1, loss / static_cast<double>(steps));
    }
    Call predict(digits_predict, digits_predict_info());
    for (int k = 0; k < parameters; k++)
        std::memcpy(predict.in[1 + k].data, weights[static_cast<std::size_t>(k)].data(),
                    weights[static_cast<std::size_t>(k)].size() * sizeof(float));
    int64_t right = 0;
    for (int64_t first = 0; first < held_out.count; first += BATCH)
        right += right_answers(predict, held_out, first);
    const double found = static_cast<double>(right) / static_cast<double>(held_out.count);
    std::printf("held-out accuracy %.4f\n", found);
    return found >= WANTED ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: train digits.bin [epochs]\n");
        return 1;
    }
    try {
        return run(argv[1], argc > 2 ? std::atoi(argv[2]) : 30);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
