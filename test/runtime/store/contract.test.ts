import { contract } from './contract.ts';
import { inEveryStore } from './stores.ts';

inEveryStore('a store', contract);
