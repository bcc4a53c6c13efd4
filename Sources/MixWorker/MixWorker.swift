import ArgumentParser

/// The media side of the service: each subcommand is one process.
@main
struct MixWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mixworker",
        abstract: "Relays, mixes and checks live streams. Started by mixorchestrator.",
        subcommands: [
            RelayCommandLine.self,
            IngestCommandLine.self,
            WhipCommandLine.self,
            WhepCommandLine.self,
            PageCommandLine.self,
            MixerCommandLine.self,
            PackagerCommand.self,
            RenditionCommand.self,
            RecorderCommand.self,
            ThumbnailCommand.self,
            PullCommand.self,
            PushCommand.self,
            ProbeCommand.self,
            PublishCommand.self,
            PictureCommand.self,
            DoctorCommand.self,
            ForkServerCommand.self,
            TrialCommand.self,
        ])

    /// On the main thread, the only one at that time: most limits apply to a thread and its successors.
    @MainActor static func main() async {
        let arguments = WorkerStart.begin(CommandLine.arguments)
        await main(Array(arguments.dropFirst()))
    }
}
