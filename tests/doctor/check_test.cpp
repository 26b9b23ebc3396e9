// Findings about everything except RDMA.
#include "doctor/check.hpp"

#include <gtest/gtest.h>

#include "doctor/gpu_access.hpp"
#include "tests/doctor/machines.hpp"

namespace framewire {
namespace {

using test::find;
using test::has;
using test::plain_machine;

Findings checked(const MachineFacts& machine) {
  return check_machine(machine, std::nullopt);
}

TEST(CheckMachine, WithoutADeviceALowLimitOfLockedMemoryHarmsNobody) {
  MachineFacts machine = plain_machine();
  machine.memory.lock_soft_bytes = 65536;
  EXPECT_EQ(find(checked(machine), "memlock").level, Level::ok);
}

TEST(CheckMachine, OneLinkThatWorksIsEnough) {
  MachineFacts machine = plain_machine();
  machine.links.tcp_trouble = "cannot connect";
  EXPECT_EQ(find(checked(machine), "tcp").level, Level::warning);
  EXPECT_FALSE(has_problem(checked(machine)));
  EXPECT_TRUE(has_problem(check_machine(machine, LinkKind::tcp)));
  machine.links.local_trouble = "cannot listen";
  EXPECT_TRUE(has_problem(checked(machine)));
}

TEST(CheckMachine, AKeyThatProgramsRefuseIsAProblem) {
  MachineFacts machine = plain_machine();
  machine.key.trouble = "the key file can be read by others";
  machine.key.mode = "0644";
  EXPECT_EQ(find(checked(machine), "key").level, Level::problem);
  EXPECT_EQ(find(checked(machine), "key").remedy, std::vector<std::string>{"chmod 600 /home/u/.config/framewire/key"});
  machine.key.path = "/home/a b/it's/key";
  EXPECT_EQ(find(checked(machine), "key").remedy, std::vector<std::string>{R"(chmod 600 '/home/a b/it'\''s/key')"});
  machine.key.is_own = false;  // this user cannot change its mode
  EXPECT_EQ(find(checked(machine), "key").remedy.front(), R"x(sudo chown "$(id -un)" '/home/a b/it'\''s/key')x");
  machine.key.is_read_by_root = true;
  EXPECT_TRUE(find(checked(machine), "key").remedy.empty()) << "it may well be the user's";
  machine.key = {.path = "/home/u/.config/framewire/key", .exists = false, .mode = "", .is_own = false, .trouble = ""};
  EXPECT_EQ(find(checked(machine), "key").level, Level::note);
  EXPECT_EQ(find(checked(machine), "key").remedy.front(), "framewire key");
}

TEST(CheckMachine, HugePagesThatAreSwitchedOffAreNoted) {
  MachineFacts machine = plain_machine();
  EXPECT_EQ(find(checked(machine), "huge pages").level, Level::ok);
  machine.memory.shared_huge_pages = "never";
  EXPECT_EQ(find(checked(machine), "huge pages").level, Level::ok);
  machine.memory.huge_pages = "never";
  EXPECT_EQ(find(checked(machine), "huge pages").level, Level::note);
}

TEST(CheckMachine, AGroupThatIsTooSmallForAPoolIsNoted) {
  MachineFacts machine = plain_machine();
  machine.memory.group_limit_bytes = 900'000'000;
  machine.memory.group_free_bytes = 256'000'000;
  EXPECT_EQ(find(checked(machine), "memory").level, Level::note);
  EXPECT_TRUE(has(find(checked(machine), "memory").value, ", 256.0 MB of 900.0 MB for this control group"));
  machine.memory.group_free_bytes = 64'000'000;
  EXPECT_EQ(find(checked(machine), "memory").level, Level::warning);
}

TEST(CheckMachine, MemoryThatIsNotKnownIsNotNone) {
  MachineFacts machine = plain_machine();
  machine.memory.total_bytes.reset();
  machine.memory.available_bytes.reset();
  const Finding finding = find(checked(machine), "memory");
  EXPECT_EQ(finding.level, Level::ok);
  EXPECT_EQ(finding.value, "not known");
}

TEST(CheckMachine, BuffersAreMeasuredAgainstTheWire) {
  MachineFacts machine = plain_machine();
  EXPECT_EQ(find(checked(machine), "tcp buffers").level, Level::ok);
  machine.network.tcp_send_bytes = 4194304;  // enough for 10 Gb/s
  EXPECT_EQ(find(checked(machine), "tcp buffers").level, Level::ok);
  machine.network.interfaces.front().megabits_per_second = 100000;
  const Finding finding = find(checked(machine), "tcp buffers");
  EXPECT_EQ(finding.level, Level::note);
  EXPECT_NE(finding.text.find("0.34 ms"), std::string::npos) << finding.text;
  EXPECT_NE(finding.text.find("12.5 MB"), std::string::npos) << finding.text;
  // The remedy sets the limit that is enough. The other direction keeps its higher limit, and both keep their minimum
  // and default.
  machine.network.tcp_send_begin = "8192 65536";
  EXPECT_TRUE(has(find(checked(machine), "tcp buffers").remedy.front(),
                  "'net.ipv4.tcp_rmem=4096 131072 33554432\\nnet.ipv4.tcp_wmem=8192 65536 12500000\\n'"));
  machine.network.interfaces.front().megabits_per_second = 800000;
  EXPECT_TRUE(has(find(checked(machine), "tcp buffers").remedy.front(), "8192 65536 100000000\\n'"));
  machine.network.tcp_send_bytes = 100'000'000;
  machine.network.tcp_receive_bytes = 100'000'000;
  EXPECT_EQ(find(checked(machine), "tcp buffers").level, Level::ok);
  machine.network.tcp_send_bytes.reset();
  EXPECT_EQ(find(checked(machine), "tcp buffers").value, "not known");
}

TEST(CheckMachine, GovernorsThatSavePowerAreNoted) {
  MachineFacts machine = plain_machine();
  machine.system.governors = {"performance"};
  EXPECT_EQ(find(checked(machine), "processor").level, Level::ok);
  machine.system.governors = {"performance", "powersave"};
  EXPECT_EQ(find(checked(machine), "processor").level, Level::note);
}

TEST(CheckMachine, WithoutOpenGlNothingCanBeViewed) {
  MachineFacts machine = plain_machine();
  machine.opengl.trouble = "EGL lists no device";
  EXPECT_EQ(find(checked(machine), "OpenGL").level, Level::problem);
  machine.opengl.is_installed = false;
  EXPECT_EQ(find(checked(machine), "OpenGL").level, Level::note);
}

TEST(CheckMachine, DrawingOnTheProcessorSaysWhatIsInTheWay) {
  MachineFacts machine = plain_machine();
  machine.opengl.is_software = true;
  EXPECT_TRUE(find(checked(machine), "OpenGL").remedy.empty());
  machine.opengl.has_render_node = true;
  EXPECT_NE(find(checked(machine), "OpenGL").remedy.at(0).find("usermod"), std::string::npos);
}

CudaDeviceFacts an_h200() {
  CudaDeviceInfo info{.name = "NVIDIA H200", .uuid = "GPU-1", .pci_address = "0000:65:00.0"};
  info.memory_bytes = 141'000'000'000;
  info.shares_memory = true;
  info.exports_dma_buf = true;
  info.takes_gpu_direct_rdma = true;
  return {.info = std::move(info)};
}

TEST(CheckMachine, CudaIsAFactAndNoAdvice) {
  MachineFacts machine = test::rdma_machine();
  EXPECT_EQ(find(checked(machine), "CUDA").value, "missing");
  machine.gpu.kernel_driver = "550.54.14";
  machine.gpu.cards = {{"0000:65:00.0", "NVIDIA H200"}};
  for (const char* trouble : {"", "libcuda.so.1: cannot open shared object file"}) {
    machine.gpu.cuda_trouble = trouble;
    const Findings findings = checked(machine);
    const Finding& cuda = find(findings, "CUDA");
    EXPECT_EQ(cuda.level, Level::ok);
    EXPECT_EQ(cuda.value, "NVIDIA H200, driver 550.54.14");
    EXPECT_TRUE(cuda.remedy.empty());
    EXPECT_EQ(find(findings, "GPUDirect").level, Level::ok);
    machine.gpu.cuda_version = "13.0";
    machine.gpu.devices = {an_h200()};
  }
  machine.gpu.cuda_trouble.clear();
  std::vector<std::string> details{
      "NVIDIA H200 at 0000:65:00.0, GPU-1, 141 GB, CUDA 13.0; programs can share its memory"};
  EXPECT_EQ(find(checked(machine), "CUDA").details, details);
  machine.gpu.devices.front().info.peers = {{.number = 1, .uuid_bytes = {}, .name = {}, .pci_address = "0000:66:00.0"},
                                            {.number = 2, .uuid_bytes = {}, .name = {}, .pci_address = "0000:67:00.0"}};
  details.emplace_back("NVIDIA H200 at 0000:65:00.0 reads the memory of the GPUs at 0000:66:00.0, 0000:67:00.0");
  EXPECT_EQ(find(checked(machine), "CUDA").details, details);
}

TEST(CheckMachine, GpuDirectSaysHowFarEachCardIs) {
  MachineFacts machine = test::rdma_machine();
  machine.gpu.devices = {an_h200()};
  const auto first_line = [&] { return find(checked(machine), "GPUDirect").details.at(0); };
  EXPECT_EQ(first_line(),
            "mlx5_0 reaches NVIDIA H200 at 0000:65:00.0 by a way that the system does not tell: its memory by DMA-BUF");
  machine.gpu.devices.front().route.path = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:65:00.0";
  machine.rdma.adapters.front().pci->route.path = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0";
  EXPECT_EQ(first_line(), "mlx5_0 reaches NVIDIA H200 at 0000:65:00.0 by one PCIe switch: its memory by DMA-BUF");
}

TEST(CheckMachine, GpuDirectSaysByWhichWayEachDeviceReachesTheMemory) {
  MachineFacts machine = test::rdma_machine();
  machine.gpu.devices = {an_h200()};
  RdmaAdapter& card = machine.rdma.adapters.front();
  CudaDeviceInfo& gpu = machine.gpu.devices.front().info;
  const auto access = [&] { return access_to(gpu, card, machine.gpu.has_peermem); };
  EXPECT_EQ(access(), GpuAccess::dma_buf);
  card.device->takes_dma_buf.reset();
  EXPECT_EQ(access(), GpuAccess::unknown);
  card.device->takes_dma_buf = false;
  EXPECT_EQ(access(), GpuAccess::none);
  machine.gpu.has_peermem = true;
  EXPECT_EQ(access(), GpuAccess::peer_memory);
  EXPECT_TRUE(has(find(checked(machine), "GPUDirect").details.at(0), ": its memory by nvidia_peermem"));
  card.device->takes_dma_buf = true;
  EXPECT_EQ(access(), GpuAccess::dma_buf) << "the link tries it first";
  gpu.exports_dma_buf = false;
  EXPECT_EQ(access(), GpuAccess::peer_memory);
  gpu.takes_gpu_direct_rdma = false;
  EXPECT_EQ(access(), GpuAccess::none);
  gpu.takes_gpu_direct_rdma = true;
  card.pci.reset();  // as Soft-RoCE
  EXPECT_EQ(access(), GpuAccess::none);
  EXPECT_TRUE(has(find(checked(machine), "GPUDirect").details.at(0), "by the processor: not its memory"));
  card.device.reset();
  EXPECT_EQ(access(), GpuAccess::unknown);
}

TEST(CheckMachine, GpuDirectIsByDataDirectWhereBothCardsHaveIt) {
  MachineFacts machine = test::rdma_machine();
  machine.gpu.kernel_driver = "580.65.06";
  machine.gpu.devices = {an_h200()};
  RdmaAdapter& card = machine.rdma.adapters.front();
  CudaDeviceInfo& gpu = machine.gpu.devices.front().info;
  const auto access = [&] { return access_to(gpu, card, machine.gpu.has_peermem); };
  gpu.knows_pcie_mapping = true;
  EXPECT_EQ(access(), GpuAccess::dma_buf);
  card.device->data_direct = {.path = "/sys/devices/pci0000:3a/0000:3b:00.1", .why_not = {}};
  EXPECT_EQ(access(), GpuAccess::data_direct) << "the link tries it first";
  EXPECT_EQ(find(checked(machine), "GPUDirect").value, "possible, by data-direct");
  EXPECT_TRUE(has(find(checked(machine), "GPUDirect").details.at(0), ": its memory by data-direct"));
  gpu.knows_pcie_mapping = false;
  EXPECT_EQ(access(), GpuAccess::dma_buf);
}

TEST(CheckMachine, GpuDirectIsWhatBothCardsAllow) {
  MachineFacts machine = test::rdma_machine();
  EXPECT_EQ(find(checked(machine), "GPUDirect").value, "missing");
  machine.gpu.kernel_driver = "550.54.14";
  machine.gpu.cuda_trouble = "libcuda.so.1: cannot open shared object file";
  EXPECT_EQ(find(checked(machine), "GPUDirect").value, "not known: libcuda.so.1: cannot open shared object file");
  machine.gpu.cuda_trouble.clear();
  machine.gpu.devices = {an_h200()};
  EXPECT_EQ(find(checked(machine), "GPUDirect").value, "possible, by DMA-BUF");
  machine.rdma.adapters.front().device->takes_dma_buf.reset();
  EXPECT_EQ(find(checked(machine), "GPUDirect").value, "not known: whether the RDMA card takes DMA-BUF");
  machine.rdma.adapters.front().device->takes_dma_buf = false;
  const Finding finding = find(checked(machine), "GPUDirect");
  EXPECT_EQ(finding.level, Level::ok) << "a fact, like CUDA";
  EXPECT_TRUE(finding.remedy.empty());
  EXPECT_TRUE(has(finding.value, "nvidia_peermem"));
  machine.gpu.has_peermem = true;
  EXPECT_EQ(find(checked(machine), "GPUDirect").value, "possible, by nvidia_peermem");
  machine.gpu.devices.front().info.takes_gpu_direct_rdma = false;
  EXPECT_EQ(find(checked(machine), "GPUDirect").value,
            "not possible: neither DMA-BUF at both cards, nor does the GPU let others reach its memory");
  machine.rdma.adapters.clear();
  EXPECT_EQ(find(checked(machine), "GPUDirect").value, "no RDMA card here that could reach the GPU's memory");
}

TEST(CheckMachine, LinksThatDoNotWorkComeWithTheCommandThatMendsThat) {
  MachineFacts machine = plain_machine();
  const auto tcp_remedy = [&](const char* trouble) {
    machine.links.tcp_trouble = trouble;
    return find(checked(machine), "tcp").remedy;
  };
  using Commands = std::vector<std::string>;
  EXPECT_EQ(tcp_remedy("cannot listen: Cannot assign requested address"),
            Commands{"sudo ip address add 127.0.0.1/8 dev lo"});
  EXPECT_EQ(tcp_remedy("a connection did not arrive within 2 s").size(), 1U);
  EXPECT_EQ(tcp_remedy("cannot listen: Permission denied"), Commands{}) << "nobody knows";
  EXPECT_EQ(tcp_remedy("cannot listen: Too many open files"), Commands{"ulimit -n \"$(ulimit -Hn)\""});
  machine.network.interfaces.push_back({.name = "lo", .index = 1, .is_loopback = true});
  EXPECT_EQ(tcp_remedy("cannot connect: Network is unreachable"), Commands{"sudo ip link set dev lo up"});
  const auto local_remedy = [&](const char* trouble) {
    machine.links.local_trouble = trouble;
    return find(checked(machine), "local").remedy;
  };
  EXPECT_EQ(local_remedy("cannot listen: Too many open files"), Commands{"ulimit -n \"$(ulimit -Hn)\""});
  EXPECT_EQ(local_remedy("cannot create shared memory: Operation not permitted"), Commands{});
  machine.system.container = "docker";
  EXPECT_EQ(local_remedy("cannot create shared memory: Operation not permitted").size(), 1U);
  EXPECT_EQ(local_remedy("not enough memory"), Commands{});
}

TEST(CheckMachine, EveryWarningAndProblemSaysWhatItMeans) {
  MachineFacts machine = test::rdma_machine();
  machine.links = {"a", "b"};
  machine.rdma.files.clear();
  machine.rdma.manager_trouble = "no such device";
  machine.rdma.adapters.front().device->ports.front().gids.clear();
  machine.rdma.dormant_cards = {{"0000:3b:00.0", "mlx5_core", "mlx5_ib"}};
  machine.memory = {};
  machine.memory.lock_soft_bytes = 0;
  machine.opengl.trouble = "none";
  machine.gpu.kernel_driver = "1.2";
  machine.key.trouble = "bad";
  for (const Finding& finding : check_machine(machine, LinkKind::rdma)) {
    EXPECT_FALSE(finding.area.empty());
    EXPECT_FALSE(finding.value.empty()) << finding.name;
    EXPECT_TRUE(finding.level == Level::ok || !finding.text.empty()) << finding.name;
  }
}

}  // namespace
}  // namespace framewire
