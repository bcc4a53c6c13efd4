import ArgumentParser
import RoomService

@main
struct MixOrchestrator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mixorchestrator",
        abstract: "Turns the events of live rooms into one continuous program per room: bypass, mix, and back.",
        version: ServiceVersion.text,
        subcommands: [
            ServeCommand.self, LayoutCommand.self, SignURLCommand.self, StoreCommand.self, DoctorCommand.self,
        ])
}
