import Foundation

/// Measures test tones and beeps in decoded sound. Pure.
enum ToneAnalysis {
    /// Returns the amplitude (of full scale) and phase (radians, relative to sample 0) of a steady tone around sample
    /// `centre`.
    ///
    /// - Parameter length: Number of samples under a Hann window: tones at least `2 · rate / length` Hz apart do not
    ///   disturb each other.
    /// - Returns: `nil` if the window is not wholly inside the samples.
    static func tone(
        _ samples: [Float], sampleRate: Int, frequency: Double, centre: Int, length: Int
    ) -> (amplitude: Double, phase: Double)? {
        let start = centre - length / 2
        guard start >= 0, start + length <= samples.count, length > 1 else { return nil }
        let step = 2 * Double.pi * frequency / Double(sampleRate)
        var (real, imaginary, weight) = (0.0, 0.0, 0.0)
        for index in 0..<length {
            let window = 0.5 - 0.5 * cos(2 * Double.pi * (Double(index) + 0.5) / Double(length))
            let angle = step * Double(start + index)
            let value = Double(samples[start + index]) * window
            real += value * cos(angle)
            imaginary -= value * sin(angle)
            weight += window
        }
        return (2 * (real * real + imaginary * imaginary).squareRoot() / weight, atan2(imaginary, real))
    }

    /// Returns the difference of two phases in degrees, −180…180.
    static func phaseJump(from before: Double, to after: Double) -> Double {
        let difference = (after - before) * 180 / Double.pi
        return difference - 360 * (difference / 360).rounded()
    }

    /// Returns the sample positions of the middles of all beeps at `frequency`.
    ///
    /// A beep is a run in which the band around the frequency rises above `threshold` (amplitude). Its middle is the
    /// centre of its energy, which neither the encoder's window nor the threshold moves.
    static func beeps(_ samples: [Float], sampleRate: Int, frequency: Double, threshold: Double) -> [Double] {
        // Blocks of 2.5 ms: their spectrum has its zeros at multiples of 400 Hz, where the other sources' beeps are.
        let block = sampleRate / 400
        let count = samples.count / max(1, block)
        guard block > 0, count > 2 else { return [] }
        var blocks: [(real: Double, imaginary: Double)] = []
        blocks.reserveCapacity(count)
        let step = 2 * Double.pi * frequency / Double(sampleRate)
        let (turnReal, turnImaginary) = (cos(step), -sin(step))
        samples.withUnsafeBufferPointer { buffer in
            for index in 0..<count {
                let angle = step * Double(index * block)
                var (rotorReal, rotorImaginary) = (cos(angle), -sin(angle))
                var (real, imaginary) = (0.0, 0.0)
                for position in index * block..<(index + 1) * block {
                    let value = Double(buffer[position])
                    real += value * rotorReal
                    imaginary += value * rotorImaginary
                    let next = rotorReal * turnReal - rotorImaginary * turnImaginary
                    rotorImaginary = rotorReal * turnImaginary + rotorImaginary * turnReal
                    rotorReal = next
                }
                blocks.append((real, imaginary))
            }
        }
        // Neighbouring blocks are summed, which halves the rest of the tones again.
        let energies = (0..<count - 1).map { index -> Double in
            let real = blocks[index].real + blocks[index + 1].real
            let imaginary = blocks[index].imaginary + blocks[index + 1].imaginary
            return (real * real + imaginary * imaginary) / Double(block * block)
        }
        let limit = threshold * threshold
        var found: [Double] = []
        var index = 0
        while index < energies.count {
            guard energies[index] > limit else {
                index += 1
                continue
            }
            var end = index
            while end < energies.count && energies[end] > limit { end += 1 }
            var (energy, moment) = (0.0, 0.0)
            for position in max(0, index - 4)..<min(energies.count, end + 4) {
                energy += energies[position]
                moment += energies[position] * Double(position + 1)
            }
            found.append(moment / energy * Double(block))
            index = end + 4
        }
        return found
    }

    /// Returns the highest peak in a range of samples above the level that tones and beeps reach, in dB of full scale:
    /// the height of a step in the waveform with the same peak.
    ///
    /// It is the peak of the eighth difference, Σ (−1)ᵏ·C(8, k)·x[n+k]: gain 256 at half the sample rate, 10⁻⁴ at a tenth
    /// of that, and C(7, 3) = 35 for a step of 1.
    static func clickLevel(_ samples: [Float], range: Range<Int>) -> Double? {
        let weights: [Float] = [1, -8, 28, -56, 70, -56, 28, -8, 1]
        let range = range.clamped(to: 0..<samples.count)
        guard range.count >= weights.count else { return nil }
        var peak: Float = 0
        for index in range.lowerBound...range.upperBound - weights.count {
            var value: Float = 0
            for (offset, weight) in weights.enumerated() { value += weight * samples[index + offset] }
            peak = max(peak, abs(value))
        }
        return 20 * log10(max(Double(peak) / 35, 1e-7))
    }

    /// Returns the highest peak in a range of samples in the band above the tones and beeps of a program, in dB of full
    /// scale: the amplitude of a tone there that has the same peak. The band begins at 0.146 of the sample rate, 7 kHz at
    /// 48 kHz, where `clickLevel` reads too low by 35 dB and more.
    ///
    /// - Returns: `nil` for fewer samples than the filter has, and below 44.1 kHz, where beeps lie in the band.
    static func bandClickLevel(_ samples: [Float], sampleRate: Int, range: Range<Int>) -> Double? {
        let middle = highPass.count - 1
        let range = range.clamped(to: 0..<samples.count)
        guard sampleRate >= 44_100, range.count > 2 * middle else { return nil }
        var peak: Float = 0
        samples.withUnsafeBufferPointer { input in
            highPass.withUnsafeBufferPointer { taps in
                for first in range.lowerBound..<range.upperBound - 2 * middle {
                    let last = first + 2 * middle
                    var value = taps[middle] * input[first + middle]
                    for tap in 0..<middle { value += taps[tap] * (input[first + tap] + input[last - tap]) }
                    peak = max(peak, abs(value))
                }
            }
        }
        return 20 * log10(max(Double(peak), 1e-7))
    }

    /// The first half of a symmetric filter of 63 taps, with the middle one at its end: equiripple (Parks and McClellan),
    /// −87 dB up to 0.083 of the sample rate (4 kHz at 48 kHz), within 0.03 dB of 1 from 0.146 of it on.
    private static let highPass: [Float] = [
        -0.0004284, 0.0010900, 0.0003495, -0.0003870, -0.0011266, -0.0013521, -0.0005837, 0.0010707,
        0.0027176, 0.0030542, 0.0012350, -0.0022986, -0.0056477, -0.0063187, -0.0028073, 0.0039787,
        0.0105222, 0.0122654, 0.0063529, -0.0058942, -0.0185085, -0.0232739, -0.0142618, 0.0076983,
        0.0332996, 0.0473916, 0.0354359, -0.0089934, -0.0793926, -0.1570371, -0.2174870, 0.7587136,
    ]
}
