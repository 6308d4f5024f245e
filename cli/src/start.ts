import { banner, readyEvent, runNode } from '@cairn/node'
import type { CommandHandler } from './command.ts'
import { asCalled } from './terminal-text.ts'

/** Runs a node in this process. Its banner is for people; a program reads the ready event, or asks for `--json`. */
export const start: CommandHandler = async ({ given, terminal, print }) => {
  const options = {
    data: given.text('data'),
    portBase: given.text('port-base'),
    config: given.text('config'),
    services: given.text('services'),
    amnesia: given.has('amnesia'),
    insecurePublic: given.has('insecure-public'),
  }
  return await runNode(options, {
    isTerminal: terminal.isWatched,
    onReady: (facts) => {
      const event = readyEvent(facts)
      // In amnesia the banner is the only place that ever shows the token.
      const isBannerDue = facts.token !== undefined || (terminal.isWatched && !given.has('quiet'))
      if (isBannerDue) terminal.say(asCalled(banner(facts)))
      print({ result: event, data: terminal.isDataWatched ? '' : `${JSON.stringify(event)}\n` })
    },
  })
}
