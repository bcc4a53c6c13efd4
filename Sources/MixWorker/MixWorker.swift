import ArgumentParser

/// The media side of the service: each subcommand is one process.
@main
struct MixWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mixworker",
        abstract: "Relays, mixes and checks live streams. Started by mixorchestrator.",
        subcommands: [
            RelayCommandLine.self,
            MixerCommandLine.self,
            PackagerCommand.self,
            RenditionCommand.self,
            RecorderCommand.self,
            ProbeCommand.self,
            PublishCommand.self,
            PictureCommand.self,
            DoctorCommand.self,
        ])
}
